"""What exists: queues, functions, controls. A name that does not exist is refused with close ones."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from queueops.conf import conf
from queueops.operations.errors import OperationError, UnknownName
from queueops.operations.text import checked_name
from queueops.rdb.client import Server, ask_each, server_of
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
    found, silent = ask_each(queues)
    raise UnknownName("queue", name, set().union(*found), silent)


def functions(server: Server) -> set[str]:
    """Functions that our doors have seen, newest first up to a cap."""
    seen = server.connection.zrevrange(conf.keys.static("functions"), 0, MOST)
    return {_text(raw).partition(SEP)[2] for raw in seen} - {""}


def check_function(name: str, others: Iterable[str] = ()) -> str:
    """``name`` if a job of it was seen, it is declared, or its module has it, or it is among ``others``."""
    checked_name("function", name)
    found, silent = ask_each(functions)
    seen = set(others).union(*found)
    declared = {target for target in conf.CONTROLS if not target.startswith("queue:")}
    if name in seen or name in declared or _importable(name):
        return name
    raise UnknownName("function", name, seen | declared, silent)


def _importable(dotted: str) -> bool:
    """Whether the module of a dotted name exists and has its last part. Imports nothing: names are hostile."""
    parts = dotted.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        return False
    for cut in range(len(parts) - 1, 0, -1):
        loaded = sys.modules.get(".".join(parts[:cut]))
        if loaded is not None:
            holder: Any = loaded
            for part in parts[cut:]:
                holder = getattr(holder, part, None)
            if holder is not None:
                return True
            break
    try:
        return _written(parts)
    except (ImportError, ValueError, OSError, SyntaxError, RecursionError):
        return False


def _written(parts: list[str]) -> bool:
    """The same by the source of the module, for one that is not loaded."""
    path: list[str] | None = None
    source = ""
    for cut in range(1, len(parts)):
        name = ".".join(parts[:cut])
        spec = importlib.util.find_spec(name) if path is None else PathFinder.find_spec(name, path)
        if spec is None:
            break
        path = list(spec.submodule_search_locations or [])
        source, rest = spec.origin or "", parts[cut:]
    if not source.endswith(".py"):
        return False
    body: list[ast.stmt] = ast.parse(Path(source).read_text("utf-8", "replace")).body
    for part in rest[:-1]:  # the methods of a class
        body = next((node.body for node in body if isinstance(node, ast.ClassDef) and node.name == part), [])
    return any(rest[-1] in _bound(node) for node in body)


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement gives to its module or class; those inside of functions are no part of it."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    children = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt | ast.ExceptHandler)]
    inner = [each for child in children for each in (child.body if isinstance(child, ast.ExceptHandler) else [child])]
    stored = {
        node.id
        for child in ast.iter_child_nodes(statement)
        if isinstance(child, ast.expr)
        for node in ast.walk(child)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return stored.union(*(_bound(each) for each in inner))


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
    found, silent = ask_each(controls)
    known: set[str] = set().union(*found)
    head, _, rest = text.partition(":")
    candidates = [text] if head in KINDS else []
    if head in KIND_LETTERS:
        candidates.append(control_id(head, rest))
    candidates += [control_id(kind, text) for kind in ("semaphore", "lock", "rate", "unique", "unique_run", "breaker")]
    hits = [name for name in dict.fromkeys(candidates) if name in known]
    if not hits:
        live: set[str] = set().union(*ask_each(_live)[0])
        hits = [name for name in dict.fromkeys(candidates) if name in live or _in_use(name)]
        known |= live
    if len(hits) == 1 or (hits and hits[0] == text):
        return hits[0]
    if hits:
        listed = ", ".join(readable(name) for name in hits)
        raise OperationError(f"{text!r} names more than one control: say {listed}.", "ambiguous")
    raise UnknownName("control", text, {name[2:] for name in known} | {readable(name) for name in known}, silent)


def _live(server: Server) -> set[str]:
    """Controls of the newest instances: a keyed primitive publishes no definition."""
    found = server.connection.zrevrange(conf.keys.static("instances"), 0, MOST)
    return {name for raw in found if (name := _text(raw).partition(SEP)[0])[:1] in "LSRUXB"}


def _in_use(control: str) -> bool:
    """Whether an instance without key is held, waited for, or charged (a primitive publishes no definition)."""
    keys, whole = conf.keys, control + SEP

    def there(server: Server) -> bool:
        if server.connection.zscore(keys.static("instances"), whole) is not None:
            return True
        return bool(server.connection.exists(keys.of("holders", whole), keys.of("line", whole), keys.of("rate", whole)))

    return any(ask_each(there)[0])


def readable(control: str) -> str:
    """``semaphore:s3-upload`` for ``S:s3-upload``."""
    return f"{KINDS.get(control[:1], 'unknown')}:{control[2:]}"
