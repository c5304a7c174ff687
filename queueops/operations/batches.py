"""Bulk work: a list of jobs in SQL, done in order, each by one atomic script; resumable, paced, stoppable."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from queueops.models import Batch, BatchItem, Intervention
from queueops.operations import collecting
from queueops.operations.clock import now_us, to_datetime
from queueops.operations.errors import OperationError
from queueops.operations.interventions import intervene
from queueops.operations.selection import Selection
from queueops.operations.steps import FITS, STEPS
from queueops.operations.text import cleaned
from queueops.rdb.client import Server, answering_server, servers

PAGE = 100
LEASE = timedelta(seconds=30)
"""A batch whose owner has not been heard of for this long is taken over."""
CATCH_UP = timedelta(seconds=5)
"""How much of its rate a batch worked on in turns may make up for."""
MAX_REASONS = 50

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class BulkResult:
    """``done + skipped + gone + left = total``. ``reasons``: why jobs were skipped, with counts."""

    verb: str
    total: int
    done: int
    skipped: int
    gone: int
    left: int
    reasons: dict[str, int]
    outcomes: tuple[tuple[str, str, str], ...]
    """``(job id, outcome, new id or reason)`` of the first 100 jobs."""
    state: str
    batch: Batch
    intervention: Intervention


def start(verb: str, selection: Selection | str | list[str], *, rate: float | None, actor: str, reason: str) -> Batch:
    """Write down what is to be done. Nothing has happened to any job when this returns.

    The jobs of a filter over Redis are collected by who works on the batch, before the first of them is touched.
    """
    chosen = Selection.of(selection).checked()
    if chosen.where is not None and chosen.where.state not in FITS[verb]:
        raise OperationError(
            f"{verb} is not for {chosen.where.state} jobs, but: {', '.join(FITS[verb])}.", "bad_selection"
        )
    if rate is not None and not 0 < rate <= 100_000:
        raise OperationError(f"A rate is more than 0 and at most 100000 jobs per second, not {rate}.", "bad_rate")
    with intervene(verb, chosen.text(), actor=actor, reason=reason) as record:
        jobs = list(islice(chosen.jobs(), collecting.MOST)) if chosen.where is None else []
        collect = {"collect": collecting.plan(chosen.where)} if chosen.where is not None else {}
        with transaction.atomic():
            batch = Batch.objects.create(
                id=uuid.uuid4().hex,
                intervention=record.row,
                verb=verb,
                selection={**chosen.facts(), **collect},
                rate=rate,
                total=len(jobs),
                created=timezone.now(),
                owner="",
            )
            items = (
                BatchItem(batch=batch, position=at, server=alias, job_id=cleaned(job_id, 255))
                for at, (alias, job_id) in enumerate(jobs)
            )
            while page := list(islice(items, 1000)):
                BatchItem.objects.bulk_create(page)
        known = {"jobs": len(jobs)} if chosen.where is None else {}
        record.before(**known, batch=batch.id, **{k: v for k, v in chosen.facts().items() if v})
        record.pending = True
    return batch


def run(batch: Batch, progress: Progress | None = None) -> BulkResult:
    """Work on the batch until it is done or stopped. An interrupt from the keyboard stops it."""
    owner = uuid.uuid4().hex
    if _take(batch, owner):
        try:
            _work(batch, owner, until=None, progress=progress)
        except KeyboardInterrupt:
            stop(batch.pk)
            raise
        finally:
            _drop(batch, owner)
    return result(batch)


def work(*, seconds: float) -> int:
    """A turn at the batches that nobody owns (their process is gone, or they were left for the background)."""
    deadline, items = time.monotonic() + seconds, 0
    for batch in Batch.objects.filter(state=Batch.State.RUNNING).order_by("created")[:20]:
        owner = uuid.uuid4().hex
        if time.monotonic() < deadline and _take(batch, owner):
            try:
                items += _work(batch, owner, until=deadline, progress=None)
            finally:
                _drop(batch, owner)
    return items


def stop(pk: str, *, by: str = "", reason: str = "") -> Batch:
    """Leave the rest of a batch undone. What was done stays done. Its intervention says who stopped it and why."""
    with transaction.atomic():
        batch = Batch.objects.select_for_update().get(pk=pk)
        if batch.state == Batch.State.RUNNING:
            _close(batch, Batch.State.STOPPED, by, reason)
    return batch


def result(batch: Batch) -> BulkResult:
    """Where the batch stands."""
    batch.refresh_from_db()
    head = batch.items.exclude(outcome="")[:100].values_list("job_id", "outcome", "detail")
    return BulkResult(
        verb=batch.verb,
        total=batch.total,
        done=batch.done,
        skipped=batch.skipped,
        gone=batch.gone,
        left=batch.total - batch.done - batch.skipped - batch.gone,
        reasons=batch.reasons,
        outcomes=tuple(head),
        state=batch.state,
        batch=batch,
        intervention=Intervention.objects.get(pk=batch.intervention_id),
    )


@dataclass(slots=True)
class _Page:
    """Outcomes not yet saved."""

    items: list[BatchItem] = field(default_factory=list)
    since: float = field(default_factory=time.monotonic)

    def full(self) -> bool:
        return len(self.items) >= PAGE or (bool(self.items) and time.monotonic() - self.since > 1)


def _work(batch: Batch, owner: str, *, until: float | None, progress: Progress | None) -> int:
    by_alias = {server.alias: server for server in servers()}
    page, count, burst = _Page(), 0, CATCH_UP if until is not None else timedelta(0)
    intervention = Intervention.objects.get(pk=batch.intervention_id)
    while collecting.pending(batch):
        if until is not None and time.monotonic() >= until:
            return count
        if not collecting.page(batch, owner, _now() + LEASE):
            return count
        if progress is not None:
            progress(0, batch.total)
    next_at = batch.next_at
    for item in _todo(batch):
        if until is not None and time.monotonic() >= until:
            break
        if batch.rate:
            now = _now()
            next_at = max(next_at or now, now - burst)
            if next_at > now:
                if not _save(batch, owner, page, next_at, progress):
                    return count
                page = _Page()
                if until is not None:
                    return count
                if not _wait(batch, owner, (next_at - now).total_seconds()):
                    return count
            next_at += timedelta(seconds=1 / batch.rate)
        item.outcome, item.detail = _step(batch, intervention, by_alias.get(item.server), item)
        page.items.append(item)
        count += 1
        if page.full():
            if not _save(batch, owner, page, next_at, progress):
                return count
            page = _Page()
    if not _save(batch, owner, page, next_at, progress):
        return count
    if not batch.items.filter(outcome="").exists():
        with transaction.atomic():
            fresh = Batch.objects.select_for_update().get(pk=batch.pk)
            if fresh.state == Batch.State.RUNNING:
                _close(fresh, Batch.State.DONE, "")
    return count


def _todo(batch: Batch) -> Iterator[BatchItem]:
    """Items without an outcome, in order, read page by page."""
    after = -1
    while True:
        rows = list(batch.items.filter(outcome="", position__gt=after).order_by("position")[:PAGE])
        if not rows:
            return
        yield from rows
        after = rows[-1].position


def _step(batch: Batch, intervention: Intervention, server: Server | None, item: BatchItem) -> tuple[str, str]:
    if server is None:
        return "skipped", f"the settings name no server {item.server}"
    outcome, detail = STEPS[batch.verb](server, item.job_id, batch.id, intervention.actor, intervention.reason)
    return outcome, cleaned(detail, 300)


def _save(batch: Batch, owner: str, page: _Page, next_at: object, progress: Progress | None) -> bool:
    """Store outcomes and counts together, and renew the lease. False when the batch is not ours to go on with."""
    counts = {name: sum(item.outcome == name for item in page.items) for name in ("done", "skipped", "gone")}
    with transaction.atomic():
        fresh = Batch.objects.select_for_update().get(pk=batch.pk)
        if fresh.owner != owner:
            return False
        BatchItem.objects.bulk_update(page.items, ("outcome", "detail"))
        for item in page.items:
            if item.outcome == BatchItem.Outcome.SKIPPED:
                known = item.detail in fresh.reasons or len(fresh.reasons) < MAX_REASONS
                why = item.detail if known else "other reasons"
                fresh.reasons[why] = fresh.reasons.get(why, 0) + 1
        Batch.objects.filter(pk=batch.pk).update(
            done=F("done") + counts["done"],
            skipped=F("skipped") + counts["skipped"],
            gone=F("gone") + counts["gone"],
            reasons=fresh.reasons,
            owned_until=_now() + LEASE,
            next_at=next_at,
        )
    if progress is not None:
        progress(fresh.done + fresh.skipped + fresh.gone + len(page.items), fresh.total)
    return fresh.state == Batch.State.RUNNING


def _wait(batch: Batch, owner: str, seconds: float) -> bool:
    """Keep the rate; look up once a second whether somebody stopped the batch."""
    while seconds > 0:
        time.sleep(min(seconds, 1.0))
        seconds -= 1.0
        if seconds > 0:
            mine = Batch.objects.filter(pk=batch.pk, owner=owner, state=Batch.State.RUNNING)
            if not mine.update(owned_until=_now() + LEASE):
                return False
    return True


def _close(batch: Batch, state: Any, by: str, why: str = "") -> None:
    Batch.objects.filter(pk=batch.pk).update(state=state, finished=timezone.now())
    batch.state = state
    after = {"done": batch.done, "skipped": batch.skipped, "gone": batch.gone, "total": batch.total}
    after |= {"reasons": batch.reasons, "state": state}
    if state == Batch.State.DONE and not batch.done:
        after["result"] = _nothing(batch)
    if why:
        after["stopped_because"] = cleaned(why, 2000)
    Intervention.objects.filter(pk=batch.intervention_id).update(
        state=Intervention.State.DONE, after=after, ended_at=timezone.now(), ended_by=by
    )


def _nothing(batch: Batch) -> str:
    """Why a batch that is over has changed nothing."""
    if not batch.total:
        return "nothing was done: no job matched"
    why = [f"{batch.gone} not found" if batch.gone else "", f"{batch.skipped} skipped" if batch.skipped else ""]
    return f"nothing was done: of {batch.total}, {', '.join(filter(None, why))}"


def _take(batch: Batch, owner: str) -> bool:
    now = _now()
    free = Q(owner="") | Q(owned_until__isnull=True) | Q(owned_until__lt=now)
    mine = Batch.objects.filter(free, pk=batch.pk, state=Batch.State.RUNNING)
    if not mine.update(owner=owner, owned_until=now + LEASE):
        return False
    batch.refresh_from_db()
    return True


def _drop(batch: Batch, owner: str) -> None:
    Batch.objects.filter(pk=batch.pk, owner=owner).update(owner="", owned_until=None)


def _now() -> datetime:
    return to_datetime(now_us(answering_server().connection))
