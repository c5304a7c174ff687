"""Which of five known patterns may a backlog have? Hypotheses with evidence for and against, never a verdict.

Each pattern is compared with the queue's own recent normal. A hypothesis is named from a weight of ``NAMED`` on; the
weights only rank, they are no probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from queueops.telemetry.dependencies import BAND

NAMED = 0.5
SMALL = 5
"""Jobs waiting that need no explanation."""
LATE = 0.5
"""Of a queue's ``max_age``: younger waits need no explanation either."""
CLEAR = 1.25
"""A pace that much above another is above it, not beside it."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a function did in the last minutes, per minute, beside its usual. ``ran`` in seconds of all its runs
    together; ``mean`` and ``usual_mean`` in seconds of one (None: unknown); ``queue`` is where.
    """

    name: str
    queue: str
    inflow: float = 0.0
    completed: float = 0.0
    failed_attempts: float = 0.0
    ran: float = 0.0
    mean: float | None = None
    usual_mean: float | None = None


@dataclass(frozen=True, slots=True)
class Outside:
    """A dependency of the queue's jobs: its p95 now and usually in seconds (None: unknown), its share of errors."""

    name: str
    now: float | None
    usual: float | None
    errors: float = 0.0


@dataclass(frozen=True, slots=True)
class Scene:
    """A queue in the last minutes. ``minutes``: (inflow, completed) of whole ones, oldest first; ``usual_in`` and
    ``usual_out``: its normal pace a minute (None: unknown). Workers are those that serve it. ``blocked``: parked jobs
    by control. ``works``: functions of this queue and of those that share its workers.
    """

    queue: str
    waiting: int
    oldest_age: float | None
    max_age: float
    minutes: Sequence[tuple[float, float]]
    usual_in: float | None = None
    usual_out: float | None = None
    paused: bool = False
    busy: int = 0
    idle: int = 0
    silent: int = 0
    blocked: Mapping[str, int] = field(default_factory=dict)
    oldest_run: float | None = None
    works: Sequence[Work] = ()
    outside: Sequence[Outside] = ()

    @property
    def inflow(self) -> float:
        return sum(a for a, _ in self.minutes) / len(self.minutes) if self.minutes else 0.0

    @property
    def completed(self) -> float:
        return sum(b for _, b in self.minutes) / len(self.minutes) if self.minutes else 0.0

    @staticmethod
    def is_late(waiting: int, oldest_age: float | None, max_age: float) -> bool:
        """Is there anything to explain? Many that wait for half of the target, or one beyond it."""
        return waiting > 0 and (oldest_age or 0.0) >= (LATE if waiting > SMALL else 1.0) * max_age


@dataclass(frozen=True, slots=True)
class Evidence:
    """``what`` names it; ``facts`` are its numbers and names."""

    what: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Card:
    """``pattern``: inflow, standing, slow, failing or starved. ``about`` is the function or control that it names."""

    pattern: str
    weight: float
    supports: tuple[Evidence, ...]
    opposes: tuple[Evidence, ...]
    about: str = ""
    kind: str = ""
    """Of standing: paused, blocked, silent, nobody, stuck or idle; of slow: slow_outside when a dependency is, too."""


def cards(scene: Scene) -> tuple[Card, ...]:
    """The hypotheses worth a look, the heaviest first; none when nothing is late."""
    if not scene.minutes or not Scene.is_late(scene.waiting, scene.oldest_age, scene.max_age):
        return ()
    found = [_inflow(scene), _standing(scene), _slow(scene), _failing(scene), _starved(scene)]
    named = [card for card in found if card and card.weight >= NAMED]
    return tuple(sorted(named, key=lambda card: -card.weight))


def _weigh(supports: Sequence[tuple[float, Evidence]], opposes: Sequence[tuple[float, Evidence]]) -> float:
    return max(0.0, min(1.0, sum(w for w, _ in supports) - sum(w for w, _ in opposes)))


def _card(
    pattern: str,
    supports: Sequence[tuple[float, Evidence]],
    opposes: Sequence[tuple[float, Evidence]],
    about: str = "",
    kind: str = "",
) -> Card:
    told = tuple(e for _, e in supports), tuple(e for _, e in opposes)
    return Card(pattern, _weigh(supports, opposes), *told, about=about, kind=kind)


def _inflow(s: Scene) -> Card | None:
    """More comes in than is done, while what is done is as much as usual."""
    if s.paused or not s.completed or s.inflow <= CLEAR * s.completed:
        return None
    above = sum(a > b for a, b in s.minutes) / len(s.minutes)
    rates = {"inflow": s.inflow, "completed": s.completed}
    supports = [(0.5 * above + 0.1, Evidence("exceeds", {**rates, "share": above}))]
    opposes = []
    if s.usual_in is not None and s.inflow > CLEAR * s.usual_in:
        supports.append((0.3, Evidence("inflow_up", {"now": s.inflow, "usual": s.usual_in})))
    elif s.usual_in is not None:
        opposes.append((0.2, Evidence("inflow_usual", {"now": s.inflow, "usual": s.usual_in})))
    if s.usual_out is not None and s.completed < 0.7 * s.usual_out:
        opposes.append((0.3, Evidence("completed_down", {"now": s.completed, "usual": s.usual_out})))
    if blocked := _blocked(s):
        opposes.append((0.3, blocked[1]))
    growing = max((w for w in s.works if w.queue == s.queue), key=lambda w: w.inflow, default=None)
    return _card("inflow", supports, opposes, growing.name if growing and growing.inflow else "")


def _standing(s: Scene) -> Card | None:
    """Workers are there, and almost nothing is completed: paused, blocked, silent, stuck and idle are told apart."""
    last = s.minutes[-5:]
    completed = sum(b for _, b in last) / len(last)
    blocked = _blocked(s)
    if completed > (0.1 * s.usual_out if s.usual_out else 0.0):
        # what is done is not what waits
        idle = [(0.2, Evidence("idle", {"idle": s.idle}))] if s.idle else []
        return _card("standing", [(0.7, blocked[1]), *idle], (), blocked[0], "blocked") if blocked else None
    fail = sum(w.failed_attempts for w in s.works if w.queue == s.queue)
    opposes = [(0.5, Evidence("attempts_end", {"failed": fail}))] if fail > 0.3 * (s.usual_out or 0.0) else []
    supports = [(0.6, Evidence("none_complete", {"now": completed, "usual": s.usual_out, "waiting": s.waiting}))]
    if s.paused:
        return _card("standing", [*supports, (0.4, Evidence("paused"))], opposes, kind="paused")
    if blocked:
        return _card("standing", [*supports, (0.4, blocked[1])], opposes, blocked[0], "blocked")
    if not s.busy and not s.idle:
        silent = (0.4, Evidence("silent", {"n": s.silent})) if s.silent else (0.4, Evidence("nobody"))
        return _card("standing", [*supports, silent], opposes, kind="silent" if s.silent else "nobody")
    holder = _holder(s)
    if s.busy and holder and holder[0].queue != s.queue:
        elsewhere = (0.3, Evidence("busy_elsewhere", {"queue": holder[0].queue}))
        return _card("standing", supports, [*opposes, elsewhere], kind="stuck")
    if s.busy:
        facts = {"busy": s.busy, "age": s.oldest_run}
        return _card("standing", [*supports, (0.3, Evidence("busy", facts))], opposes, kind="stuck")
    return _card("standing", [*supports, (0.2, Evidence("idle", {"idle": s.idle}))], opposes, kind="idle")


def _blocked(s: Scene) -> tuple[str, Evidence] | None:
    """The control that nearly all that waits is parked for."""
    control = max(s.blocked, key=lambda name: s.blocked[name], default="")
    if not control or s.blocked[control] < 0.8 * s.waiting:
        return None
    return control, Evidence("blocked", {"control": control, "n": s.blocked[control], "waiting": s.waiting})


def _slow(s: Scene) -> Card | None:
    """Runs take longer than usual: whatever they wait for may be the bottleneck, and more workers may make it worse."""
    mine = [w for w in s.works if w.queue == s.queue and w.mean is not None and w.usual_mean]
    slower = [w for w in mine if (w.mean or 0) > 1.5 * (w.usual_mean or 0)]
    if not slower:
        return None
    worst = max(slower, key=lambda w: w.ran)
    whole = sum(w.ran for w in mine) or 1.0
    facts = {"function": worst.name, "now": worst.mean, "usual": worst.usual_mean}
    ratio = (worst.mean or 0) / (worst.usual_mean or 1)
    supports = [(min(0.7, 0.3 + 0.15 * ratio) * (worst.ran / whole) ** 0.5, Evidence("slower", facts))]
    opposes = []
    if s.usual_out is not None and s.completed < 0.8 * s.usual_out:
        supports.append((0.3, Evidence("completed_down", {"now": s.completed, "usual": s.usual_out})))
    elif s.usual_out is not None:
        opposes.append((0.2, Evidence("completed_usual", {"now": s.completed, "usual": s.usual_out})))
    known = [one for one in s.outside if one.now is not None and one.usual]
    risen = [one for one in known if (one.now or 0) > BAND * (one.usual or 0)]
    if risen:
        most = max(risen, key=lambda one: (one.now or 0) / (one.usual or 1))
        supports.append((0.3, Evidence("dependency_up", {"name": most.name, "now": most.now, "usual": most.usual})))
    elif known:
        opposes.append((0.1, Evidence("dependencies_usual", {"n": len(known)})))
    return _card("slow", supports, opposes, worst.name, kind="slow_outside" if risen else "")


def _failing(s: Scene) -> Card | None:
    """The same jobs fail again and again, and their tries take the place of others."""
    mine = [w for w in s.works if w.queue == s.queue]
    failed = sum(w.failed_attempts for w in mine)
    attempts = failed + sum(w.completed for w in mine)
    if failed < 0.2 * attempts or failed <= 0.1 * (s.usual_out or 0):
        return None
    worst = max(mine, key=lambda w: w.failed_attempts)
    part = worst.failed_attempts / failed
    facts = {"function": worst.name, "failed": failed, "attempts": attempts, "part": part}
    supports = [(0.35 + 0.5 * min(1.0, failed / attempts), Evidence("attempts_fail", facts))]
    opposes = [] if part >= 0.5 else [(0.2, Evidence("spread", {"part": part}))]
    return _card("failing", supports, opposes, worst.name)


def _starved(s: Scene) -> Card | None:
    """Its workers are busy with other queues."""
    holder = _holder(s)
    if s.paused or not holder or not s.busy or holder[0].queue == s.queue:
        return None
    work, share = holder
    elsewhere = sum(w.ran for w in s.works if w.queue != s.queue) / (sum(w.ran for w in s.works) or 1.0)
    if elsewhere < 0.6:
        return None
    facts = {"function": work.name, "queue": work.queue, "share": share}
    supports = [(0.4 + 0.3 * elsewhere, Evidence("held", facts))]
    opposes = []
    if s.usual_out is not None and s.completed < 0.7 * s.usual_out:
        supports.append((0.2, Evidence("completed_down", {"now": s.completed, "usual": s.usual_out})))
    if s.idle:
        opposes.append((0.4, Evidence("idle", {"idle": s.idle})))
    return _card("starved", supports, opposes, work.name)


def _holder(s: Scene) -> tuple[Work, float] | None:
    """The function that took most of the workers' time, and its part of it."""
    whole = sum(w.ran for w in s.works)
    if not whole:
        return None
    most = max(s.works, key=lambda w: w.ran)
    return most, most.ran / whole
