"""Finish or take back what was interrupted, bring Redis in line with SQL, and end what is timed.

Called by the monitor every few seconds; also safe to call from several processes at once: every step is repeatable.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone
from redis.exceptions import ConnectionError, TimeoutError

from queueops.conf import conf
from queueops.models import ACTIVE, Batch, Intervention, Setting, SettingState
from queueops.operations import batches, interventions, isolations, limits, pauses, protocol, retention
from queueops.operations.clock import now_us, to_datetime
from queueops.operations.protocol import Mirror
from queueops.rdb.client import Server, answering_server, servers

logger = logging.getLogger("queueops.operations")

MIRRORS: tuple[Mirror[Any], ...] = (pauses.MIRROR, isolations.MIRROR, limits.MIRROR)
GRACE = timedelta(seconds=10)
"""A row this long between two states belongs to a process that is gone (scripts and connections time out in 2 s)."""
ABANDONED = timedelta(minutes=2)
MOST = 5000
SYSTEM = "queueops"
FINISHED = "finished what was interrupted"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recovered:
    """What one call did."""

    finished: int = 0
    lifted: int = 0
    ended: int = 0
    corrected: int = 0
    failed: int = 0
    batch_items: int = 0
    pruned: int = 0
    errors: tuple[str, ...] = ()


def recover(*, batch_seconds: float = 0.4) -> Recovered:
    """One round. ``batch_seconds`` bounds the work on bulk operations that nobody is working on.

    A server that does not answer is reported in ``errors`` and tried again next time; the others are served.
    """
    done = Recovered()
    for mirror in MIRRORS:
        for step in (_end_timed, _finish, _correct):
            try:
                done = step(mirror, done)
            except Exception as error:  # one kind or server must not keep the others from being recovered
                logger.warning("recover: %s of %s: %s", step.__name__, mirror.table, error)
                done = replace(done, errors=(*done.errors, f"{mirror.table}: {error}"))
    done = replace(done, failed=done.failed + _fail_abandoned())
    try:
        done = replace(done, batch_items=batches.work(seconds=batch_seconds))
    except Exception as error:
        logger.warning("recover: batches: %s", error)
        done = replace(done, errors=(*done.errors, f"batches: {error}"))
    return replace(done, pruned=retention.prune())


def _end_timed(mirror: Mirror[Any], done: Recovered) -> Recovered:
    """The doors stop obeying a record at its end; here its row ends, and whoever waits because of it is let in."""
    rows = list(mirror.model._default_manager.filter(until__isnull=False, state__in=ACTIVE).order_by("until")[:100])
    if not rows:
        return done
    now = to_datetime(now_us(answering_server().connection))
    round_ = _Round()
    for row in rows:
        if row.until <= now:
            protocol.mark_lifting([row], SYSTEM)
            _remove(mirror, row, "its time is over", round_)
            done = replace(done, ended=done.ended + 1)
    return round_.report(mirror, done)


def _finish(mirror: Mirror[Any], done: Recovered) -> Recovered:
    """Rows that a dead process left between SQL and Redis: forward in either direction."""
    late, round_ = timezone.now() - GRACE, _Round()
    stuck = mirror.model._default_manager.filter(
        state__in=(SettingState.APPLYING, SettingState.LIFTING), created__lt=late
    )
    for row in stuck.select_related("intervention")[:100]:
        if row.state == SettingState.LIFTING:
            if (row.lifted_at is None or row.lifted_at < late) and _remove(mirror, row, FINISHED, round_):
                done = replace(done, lifted=done.lifted + 1)
            continue
        if not round_.everywhere(mirror, row, partial(_put, mirror, row)):
            continue
        protocol.confirm(row)
        if row.intervention_id:
            Intervention.objects.filter(pk=row.intervention_id, state=Intervention.State.APPLYING).update(
                state=Intervention.State.IN_FORCE, after=protocol.described(row)
            )
        done = replace(done, finished=done.finished + 1)
    return round_.report(mirror, done)


def _put(mirror: Mirror[Any], row: Setting, server: Server) -> int:
    return mirror.put(server, row)


def _remove(mirror: Mirror[Any], row: Setting, why: str, round_: _Round) -> bool:
    """Whether it is gone everywhere; else the row stays ``lifting`` for the next round."""
    by = row.lifted_by or SYSTEM
    if not round_.everywhere(mirror, row, lambda server: protocol.take_out(mirror, server, row, by, why)):
        return False
    protocol.close(row, by)
    return True


@dataclass(slots=True)
class _Round:
    """Servers that did not answer in this round: each is waited for once, and the others are served."""

    silent: dict[str, str] = field(default_factory=dict)

    def ask(self, server: Server, step: Callable[[Server], T]) -> T | None:
        """The step's answer; None from a server that does not answer."""
        if server.alias in self.silent:
            return None
        try:
            return step(server)
        except (ConnectionError, TimeoutError) as error:
            self.silent[server.alias] = f"{server.entry}: {error}"
            return None

    def everywhere(self, mirror: Mirror[Any], row: Setting, step: Callable[[Server], int]) -> bool:
        """Take the step on all servers of a row; whether all did."""
        return [self.ask(server, step) for server in mirror.servers(row)].count(None) == 0

    def report(self, mirror: Mirror[Any], done: Recovered) -> Recovered:
        return replace(done, errors=(*done.errors, *(f"{mirror.table}: {why}" for why in self.silent.values())))


def _correct(mirror: Mirror[Any], done: Recovered) -> Recovered:
    """SQL is the truth. Redis is read first: a record there was committed in SQL before it was written."""
    round_ = _Round()
    for server in servers():
        fixed = round_.ask(server, partial(_correct_one, mirror))
        done = replace(done, corrected=done.corrected + (fixed or 0))
    return round_.report(mirror, done)


def _correct_one(mirror: Mirror[Any], server: Server) -> int:
    corrected = 0
    found = dict(_records(server, mirror))
    rows = {
        row.pk: row
        for row in mirror.model._default_manager.filter(state__in=ACTIVE)[:MOST]
        if any(server.alias == each.alias for each in mirror.servers(row))
    }
    for name, pk in found.items():
        if pk not in rows and not mirror.model._default_manager.filter(pk=pk, state__in=ACTIVE).exists():
            mirror.remove(server, name, pk or "", SYSTEM, "not among the settings any more")
            corrected += 1
    here = set(found.values())
    if not server.connection.exists(conf.keys.static("epoch")):
        return corrected  # the settings are not mirrored yet: whoever claims next rebuilds all of them
    for pk, row in rows.items():
        if pk not in here and row.created < timezone.now() - GRACE:
            corrected += _put_again(mirror, server, pk)
    return corrected


def _put_again(mirror: Mirror[Any], server: Server, pk: str) -> int:
    """Under the row's lock, so that a lift at the same moment comes before or after, not between."""
    with transaction.atomic():
        row = mirror.model._default_manager.select_for_update().filter(pk=pk, state__in=ACTIVE).first()
        if row is None:
            return 0
        mirror.put(server, row)
        return 1


def _records(server: Server, mirror: Mirror[Any]) -> Iterator[tuple[str, str | None]]:
    """``(field, id)`` of what Redis has in force, at most ``MOST``."""
    for count, (name, raw) in enumerate(
        server.connection.hscan_iter(conf.keys.static(mirror.table), count=500), start=1
    ):
        yield name.decode("utf-8", "surrogateescape"), protocol.record_id(raw)
        if count >= MOST:
            return


def _fail_abandoned() -> int:
    """Interventions whose process died before anything changed, or between two jobs of a small list."""
    late: datetime = timezone.now() - ABANDONED
    open_ids = Intervention.objects.filter(state=Intervention.State.APPLYING, at__lt=late).values_list("pk", flat=True)
    waiting = set(open_ids[:200])
    waiting -= set(
        Batch.objects.filter(intervention_id__in=waiting, state=Batch.State.RUNNING).values_list(
            "intervention_id", flat=True
        )
    )
    for mirror in MIRRORS:
        waiting -= set(
            mirror.model._default_manager.filter(
                intervention_id__in=waiting, state__in=(SettingState.APPLYING, SettingState.LIFTING)
            ).values_list("intervention_id", flat=True)
        )
    for pk in waiting:
        interventions.fail(pk, "Interrupted: the process that made this change ended before it was complete.")
    return len(waiting)
