"""RQ's job, which carries its claims as plain text and tells our indexes when it goes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from redis.client import Pipeline
from rq.job import Job as RQJob
from rq.job import JobStatus
from rq.serializers import PickleSerializer
from rq.utils import str_to_date

from queueops.middleware import encode_claims
from queueops.middleware.registry import JobControls
from queueops.rdb import doors
from queueops.rdb.keys import JOB_FIELDS, SEP
from queueops.rq.failures import error_line
from queueops.rq.recorder import Recorder


class _Pickle:
    """RQ's default serializer. It is false, so that RQ takes its default at once instead of looking for the methods of
    a serializer, four times a run, which costs more than the rest of a no-op job.
    """

    dumps = staticmethod(PickleSerializer.dumps)
    loads = staticmethod(PickleSerializer.loads)

    def __bool__(self) -> bool:
        return False


_PICKLE = _Pickle()


TAGS, TAG_LENGTH = 20, 100
"""Tags kept of one job, and characters of one."""

_TIMES = {n.encode(): n for n in ("created_at", "enqueued_at", "started_at", "ended_at", "last_heartbeat")}


def _time(text: bytes) -> datetime:
    """As RQ reads it, at a tenth of the cost. Raises ``ValueError``."""
    try:
        at = datetime.fromisoformat(text.decode())
    except ValueError:
        return str_to_date(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


class Job(RQJob):
    """As ``rq.job.Job``. ``claims_text`` is None for a job of plain RQ, which is adopted when a worker claims it."""

    claims_text: str | None = None
    function: str = ""
    policy_text: str = ""
    uniques_text: str = ""
    tags_text: str = ""
    attempt: int = 0
    fresh: bool = False
    """Made here and not yet through the enqueue door."""
    breakers: list[dict[str, Any]] = []
    """Claims on breakers that the failure of this run is to charge."""
    place: int = -1
    """Of a job on a pipeline: where the enqueue door's answer will stand among the results."""
    uncounted: bool = False
    """About to be saved by RQ itself, and counted after that."""
    status_is_recorded: bool = False
    delay: float | None = None
    """Seconds from the store's now, where a delay was given rather than a time."""
    stored: Mapping[bytes, bytes] = {}
    """The hash as it was read."""

    def __init__(self, id: str | None = None, connection: Any = None, serializer: Any = None) -> None:
        super().__init__(id, connection, None if serializer is PickleSerializer else serializer)
        if self.serializer is PickleSerializer:
            self.serializer = _PICKLE

    def set_controls(self, controls: JobControls) -> None:
        """Keep what the declarations ask for; from here on it is never worked out again."""
        self.function = controls.function
        self.claims_text = encode_claims(controls.claims)
        self.policy_text = json.dumps(controls.policy)
        self.uniques_text = controls.uniques
        if controls.retries is not None and self.retries_left is None:
            self.retry_intervals = controls.retries.waits()
            self.retries_left = len(self.retry_intervals)

    def retry_fields(self) -> list[Any]:
        """The retries as RQ keeps them, for a job that it saved without them."""
        if not self.retries_left or not self.retry_intervals:
            return []
        return ["retries_left", self.retries_left, "retry_intervals", json.dumps(self.retry_intervals)]

    def set_tags(self, tags: Any) -> None:
        """Keep ``meta["tags"]`` as plain text, for pages that never unpickle. What is no list of texts is left out."""
        given = tags if isinstance(tags, (list, tuple, set, frozenset)) else ()
        texts = (tag.replace(SEP, " ").strip()[:TAG_LENGTH] for tag in given if isinstance(tag, str))
        kept = list(dict.fromkeys(filter(None, texts)))[:TAGS]
        self.tags_text = SEP.join(("", *kept, "")).encode("utf-8", "replace").decode() if kept else ""

    def to_dict(self, include_meta: bool = True, include_result: bool = True) -> dict[str, Any]:
        fields: dict[str, Any] = super().to_dict(include_meta=include_meta, include_result=include_result)
        if self.claims_text is not None:
            fields[JOB_FIELDS["claims"]] = self.claims_text
            fields[JOB_FIELDS["func"]] = self.function
            fields[JOB_FIELDS["policy"]] = self.policy_text
        if self.uniques_text:
            fields[JOB_FIELDS["uniques"]] = self.uniques_text
        if self.tags_text:
            fields[JOB_FIELDS["tags"]] = self.tags_text
        if self.uncounted:
            fields[JOB_FIELDS["uncounted"]] = 1
        return fields

    def _serialize_meta(self) -> bytes:
        """As RQ's. At the end of a run the outcome counts more than meta that cannot be kept: it stays as stored."""
        try:
            return bytes(super()._serialize_meta())
        except BaseException as error:
            if not self.status_is_recorded:
                raise
            self.log.error("Job %s: its meta cannot be saved and stays as it was: %s", self.id, error_line(error))
            return self.stored.get(b"meta") or bytes(self.serializer.dumps({}))

    def restore(self, raw_data: Any) -> Any:
        others = {n: v for n, v in raw_data.items() if n not in _TIMES and not n.startswith(b"qo_")}
        super().restore(others)
        for name, attribute in _TIMES.items():
            if raw_data.get(name):
                setattr(self, attribute, _time(raw_data[name]))
        self.stored = raw_data

        def text(name: str) -> str | None:
            value = raw_data.get(JOB_FIELDS[name].encode())
            return None if value is None else value.decode("utf-8", "replace")

        self.claims_text = text("claims")
        self.function = text("func") or ""
        self.policy_text = text("policy") or ""
        self.uniques_text = text("uniques") or ""
        self.tags_text = text("tags") or ""
        self.attempt = int(text("attempts") or 0)
        self.fresh = False

    def set_status(self, status: JobStatus, pipeline: Pipeline | None = None) -> None:
        """As RQ's. While the end of a run is recorded, a write outside the transaction is left out: it repeats it."""
        if pipeline is None and self.status_is_recorded:
            self._status = status
            return
        super().set_status(status, pipeline=pipeline)

    def get_retry_interval(self) -> int:
        interval: int = super().get_retry_interval()
        self.delay = float(interval) if interval else None
        return interval

    def cancel(self, pipeline: Pipeline | None = None, *args: Any, **kwargs: Any) -> Any:
        doors.forget(self.connection, self.id, self.origin, "cancelled")
        return super().cancel(pipeline, *args, **kwargs)

    def delete(
        self, pipeline: Pipeline | None = None, remove_from_queue: bool = True, delete_dependents: bool = False
    ) -> None:
        if not isinstance(pipeline, Recorder):
            doors.forget(pipeline if pipeline is not None else self.connection, self.id, self.origin, "discarded")
        super().delete(pipeline, remove_from_queue=remove_from_queue, delete_dependents=delete_dependents)
