"""Where a text typed into the search box leads: a job by its id, a queue, a control, a function, a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.selectors import locks, snapshots, store
from queueops.rdb.client import servers
from queueops.rdb.keys import KINDS, SEP, split_instance

MOST = 30
PREFIX = 8
"""Characters of an id that pages show, enough to find it among the newest entries and the heads of the lists."""
ENTRIES, HEAD, LISTS = 2000, 500, 20


@dataclass(frozen=True, slots=True)
class Hit:
    """``kind`` is job, queue, control, key or function; ``control`` and ``key`` locate a lock."""

    kind: str
    name: str
    server: str = ""
    control: str = ""
    key: str = ""
    queue: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    job: str | None
    hits: tuple[Hit, ...]
    down: tuple[store.Down, ...]


def _ids(pipe: Any, queues: Sequence[str]) -> None:
    """Where the ids of recent jobs are: running, in the newest entries, at the heads of the lists; all bounded."""
    keys = store.keys()
    pipe.hscan(keys.static("running"), 0, count=HEAD).xrevrange(keys.static("log"), count=ENTRIES if queues else 1)
    for name in queues[:LISTS]:
        pipe.lrange(keys.of("rq_queue", name), 0, HEAD - 1)
        pipe.zrange(keys.of("quarantined", name), 0, HEAD - 1)


def _seen(running: Any, entries: Any, heads: Sequence[Any]) -> set[str]:
    found = {store.text(raw) for raw in (running[1] if isinstance(running, tuple) else ())}
    for head in heads:
        found |= {store.text(raw) for raw in (head if isinstance(head, list) else ())}
    for _id, fields in entries if isinstance(entries, list) else ():
        found.add(store.text(fields.get(b"job") or b""))
    return found


def search(text: str) -> Found:
    """An exact job id first; then names that contain the text. One round trip a server beside the snapshot."""
    wanted, keys = text.casefold(), store.keys()
    hits = [Hit("queue", row.name, row.server) for row in snapshots.current().queues if wanted in row.name.casefold()]
    down: list[store.Down] = []
    job: str | None = None
    similar: set[tuple[str, str]] = set()
    for server in servers():
        try:
            exists, controls, instances, functions, running, entries, *heads = store.ask(
                server,
                lambda pipe, server=server: _ids(  # type: ignore[misc]
                    pipe.exists(keys.of("rq_job", text))
                    .hscan(keys.static("controls"), 0, count=locks.MAX_CONTROLS)
                    .zrevrange(keys.static("instances"), 0, 1999)
                    .zrevrange(keys.static("functions"), 0, 1999),
                    server.queues if len(text) >= PREFIX else [],
                ),
            )
        except store.StoreDown as error:
            down.append(error.down)
            continue
        job = text if exists == 1 else job
        if len(text) >= PREFIX:
            similar |= {(i, server.alias) for i in _seen(running, entries, heads) if i.casefold().startswith(wanted)}
        for raw in controls[1] if isinstance(controls, tuple) else {}:
            kind, name, _key = split_instance(store.text(raw))
            if wanted in name.casefold() and kind in KINDS.values():
                hits.append(Hit("control", name, server.alias, store.text(raw)))
        for raw in instances if isinstance(instances, list) else ():
            control, _sep, key = store.text(raw).partition(SEP)
            if key and wanted in key.casefold():
                hits.append(Hit("key", f"{control[2:]} {key}", server.alias, control, key))
        for raw in functions if isinstance(functions, list) else ():
            queue, _sep, name = store.text(raw).partition(SEP)
            if wanted in name.casefold():
                hits.append(Hit("function", name, server.alias, queue=queue))
    ids = sorted({id_ for id_, _server in similar})
    if not job and len(ids) == 1:
        job = ids[0]
    hits = [*(Hit("job", id_) for id_ in ids[:MOST]), *hits]
    return Found(job, tuple(hits[:MOST]), tuple(down))
