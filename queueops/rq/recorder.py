"""RQ's transaction at the end of a run, recorded instead of sent: the settle door replays it with the release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from redis.client import Pipeline


class Recorder(Pipeline):
    """A pipeline that watches nothing and hands its commands to ``on_execute``."""

    def __init__(self, connection: Any, on_execute: Callable[[list[tuple[Any, ...]]], Any]) -> None:
        super().__init__(connection.connection_pool, connection.response_callbacks, True, None)
        self._on_execute = on_execute

    def watch(self, *names: Any) -> None:
        """Nothing to watch: the script decides and writes in one step."""

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        commands = [tuple(command[0]) for command in self.command_stack]
        self.reset()
        self._on_execute(commands)
        return [True] * len(commands)


class RecordingConnection:
    """Stands in for a worker's connection while RQ writes the end of a run: its pipelines record."""

    def __init__(self, connection: Any, on_execute: Callable[[list[tuple[Any, ...]]], Any]) -> None:
        self._connection = connection
        self._on_execute = on_execute

    def pipeline(self, *args: Any, **kwargs: Any) -> Recorder:
        return Recorder(self._connection, self._on_execute)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@contextmanager
def recording(worker: Any, job: Any, on_execute: Callable[[list[tuple[Any, ...]]], Any]) -> Iterator[None]:
    """Within the block, the pipelines of ``worker.connection`` record, and so does a status written outside them."""
    plain = worker.connection
    stand_in = RecordingConnection(plain, on_execute)
    worker.connection = stand_in
    job.status_is_recorded = True
    try:
        yield
    finally:
        worker.connection = plain
        job.status_is_recorded = False


_KEEPS_FIELDS = ("EXPIRE", "PERSIST", "HINCRBY", "HINCRBYFLOAT")


def trimmed(commands: list[tuple[Any, ...]], job: Any, token: str) -> list[tuple[Any, ...]]:
    """RQ's commands at the end of a run without what changes nothing: every part of a command costs time in Redis.

    Left out: fields that the hash held already when the job was claimed, above all ``data`` (a hash that was deleted
    during the run comes back without it, and settle deletes it), and RQ's clean-up of the execution, which settle
    does itself. Writes to the job's hash are joined where nothing else touches its fields in between.
    """
    execution = f"{job.id}:{token}"
    stored: Mapping[bytes, bytes] = job.stored
    written: set[str] = set()
    kept: list[tuple[Any, ...]] = []
    fields: dict[str, Any] | None = None
    place = 0
    for command in commands:
        name, key, last = command[0], command[1], command[-1]
        if name == "HSET" and key == job.key:
            pairs = dict(zip(command[2::2], command[3::2], strict=True))
            pairs = {n: v for n, v in pairs.items() if n in written or not _same(stored.get(n.encode()), v)}
            pairs.pop("data", None)
            written.update(pairs)
            if not pairs:
                continue
            if fields is None:
                fields, place = {}, len(kept)
                kept.append(())
            fields.update(pairs)
            kept[place] = ("HSET", key, *(part for pair in fields.items() for part in pair))
            continue
        if name in ("ZREM", "SREM") and last in (execution, token):
            continue
        if name == "DEL" and len(command) == 2 and key.endswith(execution):
            continue
        if key == job.key and name not in _KEEPS_FIELDS:
            fields, stored = None, {}
        kept.append(command)
    return kept


def _same(stored: bytes | None, value: Any) -> bool:
    if stored is None:
        return False
    if isinstance(value, str):
        return value.encode() == stored
    return value == stored if isinstance(value, bytes) else str(value).encode() == stored
