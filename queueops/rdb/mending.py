"""Keys of ours that hold something else (somebody's SET, a restore gone wrong): found, set aside, put right.

Scripts do not look at types before each call. The one that meets such a key changes nothing that could lose a job,
says so, and is called again after this has run.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from redis.exceptions import ResponseError

from queueops.conf import conf
from queueops.rdb import scripts
from queueops.rdb.keys import PER_INSTANCE, PER_QUEUE, RQ_PER_QUEUE, STATIC, TYPES

logger = logging.getLogger("queueops.rdb")

CHUNK = 200
"""Keys looked at in one call."""
QUEUES = 1000
INSTANCES = 5000
"""Instances looked at, newest first, when nothing else explains a failure."""

DEEP_EVERY = 60.0
"""Seconds between two looks at all of them, in one process."""

Pair = tuple[str, str]
_deep_at = float("-inf")


def _texts(answer: Iterable[bytes]) -> list[str]:
    return [part.decode("utf-8", "replace") for part in answer]


def _queues(connection: Any, named: Iterable[str] = ()) -> list[str]:
    """Those named, and every queue that is known by either of two indexes, each of which may be the unreadable one."""
    found: dict[str, None] = dict.fromkeys(named)
    with suppress(ResponseError):
        found.update(dict.fromkeys(_texts(connection.zrevrange(conf.keys.static("queues"), 0, QUEUES - 1))))
    with suppress(ResponseError):
        prefix = conf.keys.of("rq_queue", "")
        _, names = connection.sscan(conf.keys.static("rq_queues"), count=QUEUES)
        found.update((name.removeprefix(prefix), None) for name in _texts(names))
    return list(found)


def _held(connection: Any) -> Iterator[str]:
    """Instances that running jobs hold."""
    try:
        _, leases = connection.hscan(conf.keys.static("leases"), count=QUEUES)
    except ResponseError:
        return
    for raw in leases.values():
        try:
            yield from (str(hold[0]) for hold in json.loads(raw)["holds"])
        except (ValueError, KeyError, TypeError, IndexError):
            continue


def _indexed(connection: Any) -> list[str]:
    try:
        return _texts(connection.zrevrange(conf.keys.static("instances"), 0, INSTANCES - 1))
    except ResponseError:
        return []


def _ours(queues: Sequence[str], instances: Iterable[str]) -> Iterator[Pair]:
    yield from (
        (conf.keys.static(name), TYPES[name]) for name in STATIC if name in TYPES and not name.startswith("rq_")
    )
    yield from ((conf.keys.of(family, queue), TYPES[family]) for queue in queues for family in PER_QUEUE)
    yield from ((conf.keys.of(family, name), TYPES[family]) for name in instances for family in PER_INSTANCE)


def _rqs(queues: Sequence[str]) -> Iterator[Pair]:
    yield from ((conf.keys.static(name), TYPES[name]) for name in STATIC if name in TYPES and name.startswith("rq_"))
    yield from ((conf.keys.of(family, queue), TYPES[family]) for queue in queues for family in RQ_PER_QUEUE)


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    source = iter(pairs)
    while part := list(islice(source, CHUNK)):
        yield part


def mend(
    connection: Any,
    *,
    queues: Iterable[str] = (),
    instances: Iterable[str] = (),
    more: Iterable[Pair] = (),
    deep: bool = False,
) -> list[str]:
    """Set aside each key of ours that holds another type; the keys that were.

    Looked at are those without a name, those of all queues and of the instances that running jobs hold, and those of
    what is given; ``deep``: of all instances.
    """
    names = dict.fromkeys([*instances, *_held(connection), *(_indexed(connection) if deep else ())])
    moved: list[str] = []
    for part in _chunks([*more, *_ours(_queues(connection, queues), names)]):
        moved += _texts(scripts.run_as_is(connection, "mend", *(text for pair in part for text in pair)))
    if moved:
        logger.error("keys of another type were set aside: %s", ", ".join(moved))
    return moved


def wrong(connection: Any, pairs: Iterable[Pair]) -> list[tuple[str, str, str]]:
    """``(key, type found, type wanted)`` of those that hold another type. Changes nothing."""
    found = []
    for part in _chunks(pairs):
        with connection.pipeline(transaction=False) as pipe:
            for key, _ in part:
                pipe.type(key)
            for (key, wanted), kind in zip(part, pipe.execute(), strict=True):
                if kind.decode() not in ("none", wanted):
                    found.append((key, kind.decode(), wanted))
    return found


def unreadable(connection: Any) -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """As :func:`wrong`, of all keys that are ours, and of those of RQ that the doors read."""
    queues = _queues(connection)
    names = dict.fromkeys([*_held(connection), *_indexed(connection)])
    return wrong(connection, _ours(queues, names)), wrong(connection, _rqs(queues))


def put_right(connection: Any, error: scripts.Unreadable) -> bool:
    """Whether something was changed, so that the call may be made again. Raises ``Unreadable`` naming a key of RQ."""
    global _deep_at
    if mend(connection, queues=error.queues, instances=error.instances):
        return True
    if time.monotonic() - _deep_at > DEEP_EVERY:
        _deep_at = time.monotonic()
        if mend(connection, deep=True):
            return True
    for key, found, wanted in wrong(connection, _rqs(_queues(connection, error.queues))):
        text = f"{key} holds a {found}, not a {wanted}; it is RQ's: rename or delete it"
        raise scripts.Unreadable(text) from error
    if not error.job:
        return False
    # one that cannot be started keeps its queue from nothing else
    why = f"its records cannot be read: {error.text}"
    answer = scripts.run_as_is(connection, "quarantine", error.job, "queueops", why[:500])
    return bool(answer[0] == b"done")
