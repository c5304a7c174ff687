"""All that a job's page shows of it, from whichever server has it."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.selectors import store
from dashboard.selectors.changelog import JobLog
from dashboard.selectors.jobs import Job, JobReader
from dashboard.selectors.log_entries import Entry
from queueops.diagnosis.job_facts import FactReader, JobFacts
from queueops.rdb.client import Server, servers
from queueops.telemetry.batch import Batch


@dataclass(frozen=True, slots=True)
class Story:
    """``job`` None: no server has its hash; ``facts`` None: none knows anything of it; ``entries`` oldest first."""

    job: Job | None
    facts: JobFacts | None
    entries: tuple[Entry, ...]


def story(id_: str, *, full: bool = False) -> Story:
    """Two round trips on the server that has it, one on those asked before."""
    asked: list[tuple[Server, JobReader, FactReader]] = []
    down: store.StoreDown | None = None
    for server in servers():
        batch = Batch(server.connection)
        reader = (server, JobReader(batch, server, id_), FactReader(batch, server, id_))
        try:
            with store.guard(server):
                batch.run()
        except store.StoreDown as error:
            down = error
            continue
        asked.append(reader)
        if reader[1].found:
            break
    if down is not None and not any(job.found for _, job, _ in asked):
        raise down
    server, job, facts = max(asked, key=lambda each: (each[1].found, each[2].known))
    batch = Batch(server.connection)
    log = JobLog(batch, id_, job.created)
    job.more(batch)
    if facts.known:
        facts.more(batch)
    with store.guard(server):
        batch.run()
    return Story(job.job(full) if job.found else None, facts.read() if facts.known else None, log.entries())
