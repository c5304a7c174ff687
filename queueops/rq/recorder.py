"""RQ's transaction at the end of a run, recorded instead of sent: the settle door replays it with the release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def without_data(commands: list[tuple[Any, ...]], job_key: str) -> list[tuple[Any, ...]]:
    """The commands without the field ``data`` of the job hash, which RQ writes again unchanged.

    A hash that was deleted during the run thus comes back without data, which settle then deletes.
    """
    kept = []
    for command in commands:
        if command[0] == "HSET" and command[1] == job_key:
            pairs = list(zip(command[2::2], command[3::2], strict=True))
            command = ("HSET", job_key, *(part for pair in pairs if pair[0] != "data" for part in pair))
            if len(command) < 4:
                continue
        kept.append(command)
    return kept
