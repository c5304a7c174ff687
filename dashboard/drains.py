"""When will a backlog be gone? An estimate in words, or why there is none; and the tiles of the overview."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import wording
from dashboard.selectors.flow import total
from dashboard.selectors.snapshot_data import QueueRow, State
from queueops.diagnosis import drain as estimates
from queueops.diagnosis.drain import estimate


@dataclass(frozen=True, slots=True)
class Drain:
    """An estimate in words, or why there is none. ``word`` first, then its basis."""

    word: str
    basis: str
    bad: bool = False


def drain(row: QueueRow) -> Drain:
    """When the backlog of a queue is gone at its pace of the last minutes; or a refusal that names its reason."""
    if row.paused:
        return Drain(_("Paused"), _("no estimate while paused"))
    found = estimate(row.waiting, tuple(zip(row.spark_in, row.spark_out, strict=False)))
    if found.verdict == "empty":
        return Drain(_("Nothing waits"), "")
    if found.verdict == "unknown":
        return Drain(_("No estimate yet"), _("too few minutes of data"))
    late = (row.times_target or 0) >= 0.5
    if not late and (-found.pace <= 0.1 * found.inflow or row.waiting <= max(5.0, found.completed)):
        return Drain(_("Keeping up"), "")
    if found.verdict == "standing":
        return Drain(_("Will not clear"), _("nothing completes"), bad=True)
    if found.verdict == "growing":
        return Drain(_("Will not clear"), _("grows by %(rate)s/min") % {"rate": wording.rate(-found.pace)}, bad=True)
    if found.verdict == "level":
        return Drain(_("Not getting shorter"), _("as much arrives as completes"), bad=late)
    if found.capped or found.seconds is None or found.low is None:
        shrinks = _("shrinks by %(rate)s/min") % {"rate": wording.rate(found.pace)}
        return Drain(_("Over 30 days"), shrinks, bad=True)
    word = _("about %(age)s") % {"age": _rough(found.seconds)}
    return Drain(word, _basis(found), bad=late and found.seconds > 24 * 3600)


def _basis(found: estimates.Drain) -> str:
    """``38 to 61 min (80 %), from 15 min``."""
    over = ngettext("from %(n)s min", "from %(n)s min", found.minutes) % {"n": found.minutes}
    low = _rough(found.low or 0)
    if found.high is None:
        return _("%(low)s or far longer, %(over)s") % {"low": low, "over": over}
    high = _rough(found.high) if found.high <= estimates.CAP * 60 else _("over 30 days")
    return _("%(low)s to %(high)s (80 %%), %(over)s") % {"low": low, "high": high, "over": over}


def _rough(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 90:
        return _("%(n)s min") % {"n": max(1, round(minutes))}
    if minutes < 48 * 60:
        return _("%(n)s h") % {"n": round(minutes / 60)}
    return _("%(n)s days") % {"n": round(minutes / 1440)}


@dataclass(frozen=True, slots=True)
class Tiles:
    """The eight tiles of the overview, from all servers."""

    state: State

    @property
    def spark_in(self) -> tuple[float | None, ...]:
        return total([row.spark_in for row in self.state.queues])

    @property
    def spark_out(self) -> tuple[float | None, ...]:
        return total([row.spark_out for row in self.state.queues])

    @property
    def waiting(self) -> int | None:
        return sum(row.waiting for row in self.state.queues) if self.state.snapshots else None

    @property
    def parked(self) -> int:
        return sum(row.parked for row in self.state.queues)

    @property
    def inflow(self) -> float | None:
        return self.state.total("inflow_per_min")

    @property
    def completed(self) -> float | None:
        return self.state.total("completed_per_min")

    @property
    def failed(self) -> float | None:
        return self.state.total("failed_per_min")

    @property
    def quarantined(self) -> float | None:
        return self.state.total("quarantined")

    @property
    def attempts_failing(self) -> float | None:
        known = [row.attempts_failing for row in self.state.queues if row.attempts_failing is not None]
        return sum(known) if known else None

    @property
    def held_failed(self) -> int:
        return sum(row.failed for row in self.state.queues)

    @property
    def growth(self) -> float | None:
        return None if self.inflow is None or self.completed is None else self.completed - self.inflow

    @property
    def busy(self) -> int:
        return self.state.workers("busy")

    @property
    def idle(self) -> int:
        return self.state.workers("idle")

    @property
    def silent(self) -> int:
        return self.state.workers("silent")

    @property
    def workers(self) -> int:
        return self.busy + self.idle + self.silent

    @property
    def drain(self) -> tuple[str, str, bool]:
        """The worst queue in words, then the others that have something to say."""
        found = [(row, drain(row)) for row in self.state.queues if row.waiting]
        if not self.state.queues or (any(row.inflow is None for row in self.state.queues) and not found):
            return _("No estimate yet"), _("the rates need a few minutes of data"), False
        bad = [(row, d) for row, d in found if d.bad]
        rest = [(row, d) for row, d in found if not d.bad]
        basis = " · ".join(f"{wording.named(row.name)}: {d.word}" for row, d in [*bad[1:], *rest][:2])
        if bad:
            row, d = bad[0]
            return f"{wording.named(row.name)}: {d.word}", basis or d.basis, True
        slow = [(row, d) for row, d in rest if d.basis and not row.paused]
        if slow:
            row, d = slow[0]
            return f"{wording.named(row.name)}: {d.word}", d.basis, False
        return _("Keeping up"), basis, False
