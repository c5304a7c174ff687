"""What exists: queues, functions, controls. A name that does not exist is refused with close ones."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path

from queueops.conf import conf
from queueops.operations.errors import OperationError, UnknownName
from queueops.operations.text import checked_name
from queueops.rdb.client import Server, server_of, servers
from queueops.rdb.keys import KIND_LETTERS, KINDS, SEP, control_id

MOST = 5000
"""Names read from a server when suggestions are made."""


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def queues(server: Server) -> set[str]:
    """Queues of the settings, those that our doors have seen, and those of RQ."""
    keys = conf.keys
    prefix = keys.of("rq_queue", "")
    pipe = server.connection.pipeline(transaction=False)
    pipe.zrevrange(keys.static("queues"), 0, MOST)
    pipe.sscan(keys.static("rq_queues"), 0, count=MOST)
    seen, (_, listed) = pipe.execute()
    found = {_text(raw) for raw in seen}
    found |= {_text(raw).removeprefix(prefix) for raw in listed}
    return found | set(server.queues)


def check_queue(name: str) -> str:
    """``name`` if there is such a queue."""
    checked_name("queue", name)
    server, keys = server_of(name), conf.keys
    if name in server.queues:
        return name
    pipe = server.connection.pipeline(transaction=False)
    pipe.zscore(keys.static("queues"), name)
    pipe.sismember(keys.static("rq_queues"), keys.of("rq_queue", name))
    if any(answer not in (None, 0) for answer in pipe.execute()):
        return name
    raise UnknownName("queue", name, {known for each in servers() for known in queues(each)})


def functions(server: Server) -> set[str]:
    """Functions that our doors have seen, newest first up to a cap."""
    seen = server.connection.zrevrange(conf.keys.static("functions"), 0, MOST)
    return {_text(raw).partition(SEP)[2] for raw in seen} - {""}


def check_function(name: str, others: Iterable[str] = ()) -> str:
    """``name`` if a job of it was seen, it is declared, or its module exists and mentions it, or among ``others``."""
    checked_name("function", name)
    seen = {known for server in servers() for known in functions(server)} | set(others)
    declared = {target for target in conf.CONTROLS if not target.startswith("queue:")}
    if name in seen or name in declared or _importable(name):
        return name
    raise UnknownName("function", name, seen | declared)


def _importable(dotted: str) -> bool:
    """Whether the module of a dotted name exists and mentions its last part. Imports nothing: names are hostile."""
    module, _, last = dotted.rpartition(".")
    if not module or not all(part.isidentifier() for part in dotted.split(".")):
        return False
    parts = module.split(".")
    for cut in range(len(parts), 0, -1):
        loaded = sys.modules.get(".".join(parts[:cut]))
        if loaded is not None:
            if cut == len(parts) and hasattr(loaded, last):
                return True
            holder = getattr(loaded, parts[cut], None) if cut == len(parts) - 1 else None
            if holder is not None and hasattr(holder, last):
                return True
            break
    try:
        path: list[str] | None = None
        spec = None
        for cut in range(1, len(parts) + 1):
            name = ".".join(parts[:cut])
            spec = importlib.util.find_spec(name) if path is None else PathFinder.find_spec(name, path)
            if spec is None:
                return False
            path = list(spec.submodule_search_locations or [])
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            return False
        source = Path(spec.origin).read_text("utf-8", "replace")
        return re.search(rf"\b(?:def|class)\s+{last}\b|(?<![\w.]){last}\s*=", source) is not None
    except (ImportError, ValueError, OSError):
        return False


def controls(server: Server) -> set[str]:
    """Control ids with a published definition or an override."""
    keys = conf.keys
    found: set[str] = set()
    for table in ("controls", "overrides"):
        for raw, _ in server.connection.hscan_iter(keys.static(table), count=500):
            found.add(_text(raw))
            if len(found) > MOST:
                return found
    return found


def check_control(text: str) -> str:
    """The control id meant by ``s3-upload``, ``semaphore:s3-upload`` or ``S:s3-upload``."""
    checked_name("control", text)
    known = {name for server in servers() for name in controls(server)}
    head, _, rest = text.partition(":")
    candidates = [text] if head in KINDS else []
    if head in KIND_LETTERS:
        candidates.append(control_id(head, rest))
    candidates += [control_id(kind, text) for kind in ("semaphore", "lock", "rate", "unique", "unique_run", "breaker")]
    hits = [name for name in dict.fromkeys(candidates) if name in known]
    if not hits:
        live = {name for server in servers() for name in _live(server)}
        hits = [name for name in dict.fromkeys(candidates) if name in live or _in_use(name)]
        known |= live
    if len(hits) == 1 or (hits and hits[0] == text):
        return hits[0]
    if hits:
        listed = ", ".join(readable(name) for name in hits)
        raise OperationError(f"{text!r} names more than one control: say {listed}.", "ambiguous")
    error = UnknownName("control", text, {name[2:] for name in known} | {readable(name) for name in known})
    raise error


def _live(server: Server) -> set[str]:
    """Controls of the newest instances: a keyed primitive publishes no definition."""
    found = server.connection.zrevrange(conf.keys.static("instances"), 0, MOST)
    return {name for raw in found if (name := _text(raw).partition(SEP)[0])[:1] in "LSRUXB"}


def _in_use(control: str) -> bool:
    """Whether an instance without key is held, waited for, or charged (a primitive publishes no definition)."""
    keys, whole = conf.keys, control + SEP
    return any(
        server.connection.zscore(keys.static("instances"), whole) is not None
        or server.connection.exists(keys.of("holders", whole), keys.of("line", whole), keys.of("rate", whole))
        for server in servers()
    )


def readable(control: str) -> str:
    """``semaphore:s3-upload`` for ``S:s3-upload``."""
    return f"{KINDS.get(control[:1], 'unknown')}:{control[2:]}"
