"""Where a text typed into the search box leads: a job by its id, a queue, a control, a function, a worker."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.selectors import locks, snapshots, store
from queueops.rdb.client import servers
from queueops.rdb.keys import KINDS, SEP, split_instance

MOST = 30


@dataclass(frozen=True, slots=True)
class Hit:
    """``kind`` is queue, control, key or function; ``control`` and ``key`` locate a lock."""

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


def search(text: str) -> Found:
    """An exact job id first; then names that contain the text. One round trip a server beside the snapshot."""
    wanted, keys = text.casefold(), store.keys()
    hits = [Hit("queue", row.name, row.server) for row in snapshots.current().queues if wanted in row.name.casefold()]
    down: list[store.Down] = []
    job: str | None = None
    for server in servers():
        try:
            exists, controls, instances, functions = store.ask(
                server,
                lambda pipe: (
                    pipe.exists(keys.of("rq_job", text))
                    .hscan(keys.static("controls"), 0, count=locks.MAX_CONTROLS)
                    .zrevrange(keys.static("instances"), 0, 1999)
                    .zrevrange(keys.static("functions"), 0, 1999)
                ),
            )
        except store.StoreDown as error:
            down.append(error.down)
            continue
        job = text if exists == 1 else job
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
    return Found(job, tuple(hits[:MOST]), tuple(down))
