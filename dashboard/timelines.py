"""Charts over time: what they show, in numbers and words. The browser draws them; their tables need no script."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from dashboard.selectors.history import History
from dashboard.selectors.marks import Mark
from queueops.telemetry.history import Point

Values = tuple[float | None, ...]

PERCENTILES = (50, 95, 99)
ROWS = 30
"""Newest points that the table in the page has; the download has all."""
BECAME = ("completed", "retried", "failed", "quarantined", "discarded", "skipped")
"""What is stacked: each end of a run or a job that a person asks about."""


@dataclass(frozen=True, slots=True)
class Track:
    """One line of a chart. ``tone`` is its colour in the style sheet; None is a gap."""

    name: str
    label: str
    tone: str
    values: Values

    @property
    def last(self) -> float | None:
        """The newest that is known."""
        return next((value for value in reversed(self.values) if value is not None), None)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: ``at`` in µs; ``values`` by the label of their track."""

    at: int
    values: tuple[tuple[str, float | None], ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """``unit`` is rate (per minute), count or seconds. Points begin at ``start`` (epoch seconds), ``step`` apart."""

    name: str
    title: str
    unit: str
    start: int
    step: int
    tracks: tuple[Track, ...]
    marks: tuple[Mark, ...] = ()
    stacked: bool = False
    limit: float | None = None
    """A line to compare with, in the unit of the chart."""
    limit_label: str = ""

    @property
    def length(self) -> int:
        return len(self.tracks[0].values) if self.tracks else 0

    @property
    def empty(self) -> bool:
        """Nothing is known of any point."""
        return all(value is None for track in self.tracks for value in track.values)

    def data(self, tell: Callable[[Mark], str]) -> str:
        """For the script that draws; ``tell`` puts a mark into words."""
        return json.dumps(
            {
                "start": self.start,
                "step": self.step,
                "unit": self.unit,
                "units": [_("d"), _("h"), _("m"), _("s"), _("ms")],
                "stacked": self.stacked,
                "values": [track.values for track in self.tracks],
                "marks": [[round(mark.at), tell(mark)] for mark in self.marks],
                "limit": self.limit,
            },
            separators=(",", ":"),
            ensure_ascii=False,
        )

    def marks_at(self, place: int) -> tuple[Mark, ...]:
        """What was done within one point."""
        at = self.start + place * self.step
        return tuple(mark for mark in self.marks if at <= mark.at < at + self.step)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Newest first, as many as a page has."""
        found = []
        for place in range(self.length - 1, max(-1, self.length - 1 - ROWS), -1):
            at = self.start + place * self.step
            values = tuple((track.label, track.values[place]) for track in self.tracks)
            found.append(Row(at * 1_000_000, values, self.marks_at(place)))
        return tuple(found)


def _of(points: Sequence[Point | None], value: Callable[[Point], float | None]) -> Values:
    return tuple(None if point is None else value(point) for point in points)


def pace(found: History, marks: Sequence[Mark]) -> Chart:
    """Inflow against completions."""
    per = 60 / found.step
    return Chart(
        "pace", _("Inflow against completions"), "rate", found.start, found.step,
        (
            Track("inflow", _("Inflow"), "in", _of(found.points, lambda p: round(p.inflow * per, 2))),
            Track("completed", _("Completed"), "completed", _of(found.points, lambda p: round(p.completed * per, 2))),
        ),
        tuple(marks),
    )  # fmt: skip


def became(found: History, marks: Sequence[Mark]) -> Chart:
    """What became of the work, stacked."""
    words = {
        "completed": _("Completed"), "retried": _("Retried"), "failed": _("Failed"), "quarantined": _("Quarantined"),
        "discarded": _("Discarded"), "skipped": _("Skipped"),
    }  # fmt: skip
    per = 60 / found.step

    def values(event: str) -> Values:
        return _of(found.points, lambda p: round(p.counts.get(event, 0) * per, 2))

    tracks = tuple(Track(event, words[event], event, values(event)) for event in BECAME)
    return Chart("became", _("What became of the work"), "rate", found.start, found.step, tracks, tuple(marks), True)


def waiting(found: History, marks: Sequence[Mark]) -> Chart:
    """How much waited at the end of each point; of an hour the most."""
    tracks = (Track("waiting", _("Waiting"), "queued", _of(found.points, lambda p: p.waiting)),)
    return Chart("waiting", _("Waiting jobs"), "count", found.start, found.step, tracks, tuple(marks))


def oldest(found: History, marks: Sequence[Mark], max_age: float | None) -> Chart:
    """The oldest age at the end of each point; where nothing waited it is zero."""

    def age(point: Point) -> float | None:
        return point.oldest_age if point.waiting or point.waiting is None else (point.oldest_age or 0.0)

    tracks = (Track("oldest_age", _("Oldest age"), "parked", _of(found.points, age)),)
    return Chart(
        "oldest", _("Oldest age"), "seconds", found.start, found.step, tracks, tuple(marks), False, max_age, _("target")
    )


def times(found: History, marks: Sequence[Mark], percent: int) -> Chart:
    """Waiting and run time; a point without a sample is a gap."""

    def rounded(value: float | None) -> float | None:
        return None if value is None else round(value, 4)

    tracks = (
        Track("waited", _("Waiting time"), "queued", _of(found.times, lambda p: rounded(p.waited.percentile(percent)))),
        Track("ran", _("Run time"), "running", _of(found.times, lambda p: rounded(p.ran.percentile(percent)))),
    )
    title = _("Waiting and run time, median") if percent == 50 else _("Waiting and run time, p%(n)s") % {"n": percent}
    return Chart("times", title, "seconds", found.times_start, found.times_step, tracks, tuple(marks))
