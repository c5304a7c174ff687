"""Is it healthy? One sentence, judged against each queue's ``max_age``; and what needs a person."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

LEVELS = ("ok", "warn", "bad", "unknown")
NAMED = 3
"""Queues and needs named in the sentence; more are counted."""


@dataclass(frozen=True, slots=True)
class Need:
    """Something a person should look at. ``query`` names the thing; ``href`` is the page with it."""

    level: str
    kind: str
    text: str
    href: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """``level`` is ok, warn, bad or unknown; no data is never ok."""

    level: str
    sentence: str
    needs: tuple[Need, ...] = field(default=())

    @property
    def healthy(self) -> bool:
        return self.level == "ok"


def link(page: str, **query: str) -> str:
    """A page with its target in the query, safe for any name."""
    return f"/{page}/?{urlencode(query)}" if query else f"/{page}/"


def name_text(name: str, limit: int = 60) -> str:
    """A name as safe text inside a sentence: quoted when it is not a plain word, control characters visible."""
    clean = "".join(
        c if c == " " or not unicodedata.category(c).startswith(("C", "Z")) else f"\\u{ord(c):04x}" for c in name
    )
    if len(clean) > limit:
        clean = clean[: limit - 1] + "…"
    plain = clean and all(c.isalnum() or c in "-_.:/+@" for c in clean)
    return clean if plain else f"“{clean}”"


def duration_text(seconds: float) -> str:
    """Seconds in the largest fitting unit, whole: ``45 s``, ``11 min``, ``3 h``, ``2 days``."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size or (unit in ("min", "h") and seconds >= size):
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


@dataclass(frozen=True, slots=True)
class QueueState:
    """What health needs to know of a queue."""

    name: str
    max_age: float
    oldest_age: float | None
    waiting: int
    paused: bool
    serving: int
    inflow: float | None = None
    completed: float | None = None
    """Per minute, over the last minutes; None when too few are known."""

    @property
    def growing(self) -> bool:
        """More comes in than is done, and what waits is more than a moment's work: it will not clear by itself."""
        if self.inflow is None or self.completed is None or self.paused or not self.waiting:
            return False
        growth = self.inflow - self.completed
        aged = (self.oldest_age or 0) >= 0.5 * self.max_age
        if not aged and (growth <= 0.1 * self.inflow or self.waiting <= max(5.0, self.completed)):
            return False
        return not self.completed or growth > 0.05 * self.completed


def judge(queues: Sequence[QueueState], others: Sequence[Need], *, epoch: bool = True) -> Health:
    """The sentence and its level. A paused queue that is late is held back on purpose: warn, not bad."""
    late = [q for q in queues if q.oldest_age is not None and q.oldest_age > q.max_age and not q.paused]
    held = [q for q in queues if q.paused and q.waiting]
    late.sort(key=lambda q: -(q.oldest_age or 0) / max(q.max_age, 0.001))
    others = [*others, *(_growing(q) for q in queues if q.growing and q not in late)]
    needs = [_late(q) for q in late] + others
    bad = [need for need in others if need.level == "bad"]
    parts = [f"{name_text(q.name)} is {duration_text(q.oldest_age or 0)} behind" for q in late[:NAMED]]
    if len(late) > NAMED:
        parts.append(f"{len(late) - NAMED} more queues are behind")
    if late:
        worst = max((q.oldest_age or 0) / max(q.max_age, 0.001) for q in late)
        level, word = ("bad", "Unhealthy") if worst >= 1.5 or bad else ("warn", "Degraded")
        return Health(level, _sentence(parts, word), tuple(needs))
    # jobs that failed for good are kept for long: they are listed, and do not make the queues late
    urgent = [need for need in others if need.kind != "failed"]
    if bad:
        return Health("bad", f"Unhealthy: {_texts(urgent)}", tuple(needs))
    if not epoch:
        return Health("unknown", "Unknown: the settings are not mirrored to this Redis yet.", tuple(needs))
    person = f"{'1 thing needs' if len(urgent) == 1 else f'{len(urgent)} things need'} a person: {_texts(urgent)}"
    if held:
        names = ", ".join(name_text(q.name) for q in held[:NAMED])
        more = f" and {len(held) - NAMED} more" if len(held) > NAMED else ""
        rest = f" {person}" if urgent else ""
        return Health("warn", f"On time, except what is paused: {names}{more}.{rest}", tuple(needs))
    if urgent:
        return Health("warn", f"On time, but {person}", tuple(needs))
    if not queues:
        return Health("unknown", "Unknown: there is no queue yet.", ())
    return Health("ok", "All queues are on time.", tuple(needs))


def _late(queue: QueueState) -> Need:
    multiple = (queue.oldest_age or 0) / max(queue.max_age, 0.001)
    nobody = "" if queue.serving else " and no worker serves it"
    text = (
        f"{name_text(queue.name)}: the oldest job has waited {duration_text(queue.oldest_age or 0)},"
        f" {multiple:.1f} × its target{nobody}."
    )
    return Need("bad" if multiple >= 1.5 else "warn", "late", text, link("queues", name=queue.name), queue.name)


def _growing(queue: QueueState) -> Need:
    growth = (queue.inflow or 0) - (queue.completed or 0)
    why = f"it grows by {growth:.1f}/min" if queue.completed else "nothing completes"
    text = f"{name_text(queue.name)} will not clear: {why}."
    return Need("warn", "growing", text, link("queues", name=queue.name), queue.name)


def _texts(needs: Sequence[Need]) -> str:
    """The first needs in full, and how many more there are."""
    more = [f"And {len(needs) - NAMED} more."] if len(needs) > NAMED else []
    return " ".join([*(need.text for need in needs[:NAMED]), *more])


def _sentence(parts: Sequence[str], word: str) -> str:
    return f"{word}: {'; '.join(parts)}."
