"""What the monitor found, in the viewer's language; a text that is not known here is shown as the monitor said it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import wording
from dashboard.selectors.flow import total
from dashboard.selectors.snapshots import Need, QueueRow, Restraint, State
from queueops.rdb.keys import SEP

_LABEL = re.compile(r"^(?:Degraded|Attention|Unknown):\s+")


@dataclass(frozen=True, slots=True)
class InForce:
    """One item of the banner. ``verb`` lifts it (empty: not from here); ``glyph`` shows its kind."""

    item: Restraint
    glyph: str
    target: str
    word: str
    href: str
    verb: str
    kind: str
    name: str


def restraint(item: Restraint) -> InForce:
    """A pause, limit, isolation or suspension as the banner shows it."""
    prefix, _colon, name = item.target.partition(":")
    if item.kind == "pause" and item.target == "all":
        return InForce(item, "pause", _("Everything"), _("paused"), "/queues/", "resume", "all", "")
    if item.kind == "pause":
        kind = "queue" if prefix == "q" else "function"
        href = f"/queues/?{urlencode({'name': name})}" if kind == "queue" else ""
        return InForce(item, "pause", wording.named(name), _("paused"), href, "resume", kind, name)
    if item.kind == "limit":
        href = f"/locks/?{urlencode({'control': item.target})}"
        said = re.search(r"limit (\d+)", item.reason)
        word = _("limited to %(n)s") % {"n": said[1]} if said else _("limited")
        return InForce(item, "limit", wording.named(name), word, href, "limit", "limit", item.target)
    if item.kind == "isolate":
        kind = {"f": "function", "e": "error", "k": "key"}.get(prefix, "function")
        shown = name.replace(SEP, " ") if kind == "key" else name
        return InForce(
            item, "quarantined", wording.named(shown), _("isolated"), "/quarantine/", "unisolate", kind, name
        )
    return InForce(item, "pause", _("All workers"), _("suspended with RQ's own command"), "/workers/", "", "", "")


def health(state: State) -> str:
    """One sentence after the level's word."""
    if state.down:
        names = ", ".join(wording.named(down.alias) for down in state.down)
        return _("Redis does not answer (%(names)s). What it held is unknown.") % {"names": names}
    if not state.snapshots:
        return _("There is no Redis server in RQ_QUEUES.")
    if not state.reported:
        return _("The monitor does not report. The figures were read just now; nobody watches them.")
    late = [row for row in state.queues if (row.times_target or 0) > 1 and not row.paused]
    if late:
        late.sort(key=lambda row: -(row.times_target or 0))
        parts = [
            _("%(queue)s is %(age)s behind") % {"queue": wording.named(row.name), "age": wording.age(row.oldest_age)}
            for row in late[:2]
        ]
        if len(late) > 2:
            parts.append(
                ngettext("%(n)s more queue is late", "%(n)s more queues are late", len(late) - 2) % {"n": len(late) - 2}
            )
        return "; ".join(parts) + "."
    paused = [row for row in state.queues if row.paused and row.waiting]
    if state.level == "warn" and paused and not state.needs:
        names = ", ".join(wording.named(row.name) for row in paused[:3])
        return _("On time, except what is paused: %(names)s.") % {"names": names}
    if state.level in ("warn", "bad") and state.needs:
        return need(state.needs[0]).text
    if state.level == "ok":
        return _("All queues are on time.")
    return _LABEL.sub("", state.health) or _("There is no data yet.")


def need(item: Need) -> Need:
    """One line of "needs a person", translated where its pattern is known."""
    return Need(item.level, item.kind, said(item.text), item.href)


def said(text: str) -> str:
    """A sentence of the monitor in the viewer's language."""
    for pattern, build in _PATTERNS:
        match = pattern.fullmatch(text)
        if match:
            return build(match.groupdict())
    return text


def _duration(text: str) -> str:
    number, _space, unit = text.partition(" ")
    units = {"s": _("s"), "min": _("min"), "h": _("h"), "days": _("days")}
    return f"{number} {units.get(unit, unit)}"


def _late(g: dict[str, str]) -> str:
    text = _("%(queue)s: the oldest job has waited %(age)s, %(times)s × its target.")
    if g["nobody"]:
        text = _("%(queue)s: the oldest job has waited %(age)s, %(times)s × its target, and no worker serves it.")
    return text % {"queue": g["queue"], "age": _duration(g["age"]), "times": g["times"]}


def _jobs(text: str) -> int:
    return int(text.replace(",", ""))


def _quarantine(g: dict[str, str]) -> str:
    text = ngettext(
        "%(n)s job is in quarantine on %(queue)s.", "%(n)s jobs are in quarantine on %(queue)s.", _jobs(g["n"])
    )
    return text % g


def _nobody(g: dict[str, str]) -> str:
    text = ngettext("%(n)s job waits and no worker is alive.", "%(n)s jobs wait and no worker is alive.", _jobs(g["n"]))
    return text % g


_LATE = r"(?P<queue>.+): the oldest job has waited (?P<age>\d+ \w+), (?P<times>[\d.]+) × its target"
_Build = Callable[[dict[str, str]], str]
_PATTERNS: tuple[tuple[re.Pattern[str], _Build], ...] = (
    (re.compile(_LATE + r"(?P<nobody> and no worker serves it)?\."), _late),
    (re.compile(r"(?P<n>[\d,]+) jobs? (?:is|are) in quarantine on (?P<queue>.+)\."), _quarantine),
    (
        re.compile(r"Worker (?P<name>.+) has given no sign of life for (?P<age>\d+ \w+)\."),
        lambda g: (
            _("Worker %(name)s has given no sign of life for %(age)s.")
            % {"name": wording.short(g["name"]), "age": _duration(g["age"])}
        ),
    ),
    (re.compile(r"(?P<n>[\d,]+) more workers are silent\."), lambda g: _("%(n)s more workers are silent.") % g),
    (re.compile(r"(?P<n>[\d,]+) jobs? waits? and no worker is alive\."), _nobody),
    (re.compile(r"(?P<name>.+) is stopped: its limit is 0\."), lambda g: _("%(name)s is stopped: its limit is 0.") % g),
    (
        re.compile(r"Two live releases declare a control differently\."),
        lambda g: _("Two live releases declare a control differently."),
    ),
    (
        re.compile(r"The monitor's duty (?P<name>.+) has not run for (?P<age>\d+ \w+)\."),
        lambda g: _("The monitor's duty %(name)s has not run for %(age)s.") % {**g, "age": _duration(g["age"])},
    ),
)


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
    if not row.waiting:
        return Drain(_("Nothing waits"), "")
    pace = row.pace()
    if pace is None:
        return Drain(_("No estimate yet"), _("too few minutes of data"))
    inflow, completed = pace
    growth, late = inflow - completed, (row.times_target or 0) >= 0.5
    if not late and (growth <= 0.1 * inflow or row.waiting <= max(5.0, completed)):
        return Drain(_("Keeping up"), "")
    if not completed:
        return Drain(_("Will not clear"), _("nothing completes"), bad=True)
    if growth > 0.05 * completed:
        return Drain(_("Will not clear"), _("grows by %(rate)s/min") % {"rate": wording.rate(growth)}, bad=True)
    if growth > -0.05 * completed:
        return Drain(_("Not getting shorter"), _("as much arrives as completes"), bad=late)
    minutes = row.waiting / -growth
    if minutes > 24 * 60:
        return Drain(_("Over a day"), _("shrinks by %(rate)s/min") % {"rate": wording.rate(-growth)}, bad=True)
    return Drain(_("about %(age)s") % {"age": _rough(minutes)}, _("at the pace of 5 minutes"))


def _rough(minutes: float) -> str:
    if minutes < 1:
        return _("1 min")
    if minutes < 90:
        return _("%(n)s min") % {"n": round(minutes)}
    return _("%(n)s h") % {"n": round(minutes / 60)}


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
