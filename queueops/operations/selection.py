"""Which jobs a bulk verb means: ids, all in one state that a filter matches, or quarantined ones by their SQL copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import QuerySet

from queueops.conf import conf
from queueops.models import QuarantinedJob
from queueops.operations import copies
from queueops.operations.errors import OperationError
from queueops.operations.names import MOST, check_function, check_queue
from queueops.operations.text import cleaned
from queueops.rdb.client import Server, ask_each, default_server, servers
from queueops.telemetry.job_pages import PARTS, STATES, JobFilter

MOST_IDS = 10_000


@dataclass(frozen=True, slots=True)
class Selection:
    """``job_ids``; or ``where``, a filter over the jobs of one state in Redis; or a filter over the SQL copies of
    quarantined jobs, of which ``everything`` is the one without a condition.
    """

    job_ids: tuple[str, ...] = ()
    queue: str = ""
    function: str = ""
    reason_like: str = ""
    fingerprint: str = ""
    everything: bool = False
    where: JobFilter | None = None

    @classmethod
    def of(cls, selection: Selection | str | Iterable[str]) -> Selection:
        """A selection, one job id, or several (each once, in their order)."""
        if isinstance(selection, Selection):
            return selection
        ids = (selection,) if isinstance(selection, str) else tuple(dict.fromkeys(str(each) for each in selection))
        return cls(job_ids=ids)

    @property
    def by_filter(self) -> bool:
        return not self.job_ids

    def checked(self) -> Selection:
        """Itself, or an error: nothing chosen, both ways at once, or too many ids."""
        conditions = any((self.queue, self.function, self.reason_like, self.fingerprint))
        if self.where is not None:
            if self.job_ids or conditions or self.everything:
                raise OperationError("Name jobs or give a filter, not both.", "bad_selection")
            if self.where.state not in (*STATES, *PARTS) or self.where.state == "running":
                raise OperationError(f"No bulk verb is for {self.where.state} jobs.", "bad_selection")
            if self.where.queue is not None:
                check_queue(self.where.queue)
            return self
        if self.job_ids and (conditions or self.everything):
            raise OperationError("Name jobs or give a filter, not both.", "bad_selection")
        if not self.job_ids and not conditions and not self.everything:
            raise OperationError("Name the jobs, or give a filter.", "nothing_selected")
        if self.everything and conditions:
            raise OperationError("Everything takes no filter.", "bad_selection")
        for job_id in self.job_ids:
            if cleaned(job_id, 255) != job_id:
                raise OperationError(f"{job_id[:80]!r} is no id that can be written down exactly.", "bad_id")
        if len(self.job_ids) > MOST_IDS:
            raise OperationError(f"At most {MOST_IDS} ids at once; use a filter.", "too_many")
        return self

    def text(self) -> str:
        """For the audit trail."""
        if self.job_ids:
            shown = ", ".join(self.job_ids[:5])
            return f"job {shown}" if len(self.job_ids) == 1 else f"{len(self.job_ids)} jobs: {shown}"
        if self.where is not None:
            return self.where.in_words()
        names = {"queue": "queue", "function": "function", "reason_like": "reason like", "fingerprint": "error"}
        parts = [f"{label} {getattr(self, field)!r}" for field, label in names.items() if getattr(self, field)]
        return "quarantined jobs" + (" with " + ", ".join(parts) if parts else "")

    def facts(self) -> dict[str, Any]:
        """For storage."""
        where = self.where.as_dict() if self.where is not None else None
        return {**asdict(self), "job_ids": list(self.job_ids[:100]), "where": where}

    def rows(self) -> QuerySet[QuarantinedJob]:
        """The quarantined jobs that the filter matches, by the SQL copy."""
        found = QuarantinedJob.objects.filter(state=QuarantinedJob.State.QUARANTINED)
        if self.queue:
            found = found.filter(queue=self.queue)
        if self.function:
            found = found.filter(function=self.function)
        if self.reason_like:
            found = found.filter(reason__icontains=self.reason_like)
        if self.fingerprint:
            found = found.filter(fingerprint=self.fingerprint)
        return found.order_by("quarantined_at", "id")

    def jobs(self) -> Iterator[tuple[str, str]]:
        """``(server alias, job id)`` in the order of work. Those of ``where`` are collected page by page instead."""
        if self.job_ids:
            yield from _placed(self.job_ids)
            return
        refresh()
        if self.queue and not QuarantinedJob.objects.filter(queue=self.queue).exists():
            check_queue(self.queue)
        if self.function and not QuarantinedJob.objects.filter(function=self.function).exists():
            known = QuarantinedJob.objects.order_by().values_list("function", flat=True).distinct()
            check_function(self.function, known[:MOST])
        yield from self.rows().values_list("server", "job_id").iterator(chunk_size=2000)


def refresh() -> None:
    """Copy what the monitor has not copied yet, so that a filter sees every quarantined job."""
    ask_each(copies.sync)


def _placed(ids: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each id with the server that has it; one that nobody has goes to where its copy came from, or to the first."""
    found: dict[str, str] = {}

    def look(server: Server) -> None:
        for start in range(0, len(ids), 500):
            pipe = server.connection.pipeline(transaction=False)
            page = [job_id for job_id in ids[start : start + 500] if job_id not in found]
            for job_id in page:
                pipe.exists(conf.keys.of("rq_job", job_id))
            found.update({job_id: server.alias for job_id, there in zip(page, pipe.execute(), strict=True) if there})

    silent = ask_each(look)[1] if len(servers()) > 1 else []
    missing = [job_id for job_id in ids if job_id not in found]
    for start in range(0, len(missing), 500):
        rows = QuarantinedJob.objects.filter(job_id__in=missing[start : start + 500])
        found.update({job_id: alias for alias, job_id in rows.values_list("server", "job_id")})
    if silent and (nowhere := [job_id for job_id in missing if job_id not in found]):
        entries = ", ".join(server.entry for server in silent)
        raise OperationError(
            f"Job {nowhere[0]} is on no server that answers; that of {entries} does not answer.", "server_silent"
        )
    first = default_server().alias
    for job_id in ids:
        yield found.get(job_id, first), job_id
