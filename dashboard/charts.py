"""Geometry of the small charts: numbers in, SVG path data out. A gap in the data stays a gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Value = float | None
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Spark:
    """Path data of a line with its filled area."""

    line: str
    area: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Two lines, the bands between them, and where data is missing."""

    inflow: str
    completed: str
    over: str
    under: str
    missing: tuple[tuple[float, float], ...]
    top: float


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _path(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points)


def _runs(values: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Index ranges ``[start, stop)`` of consecutive true values."""
    start = None
    for index, good in enumerate([*values, False]):
        if good and start is None:
            start = index
        elif not good and start is not None:
            yield start, index
            start = None


def nice(top: float) -> float:
    """The next round number at or above ``top``, for the head of an axis."""
    if top <= 0:
        return 1.0
    step = 1.0
    while step * 10 <= top:
        step *= 10
    while step > top:
        step /= 10
    return next(step * factor for factor in (1, 1.5, 2, 2.5, 4, 5, 8, 10) if step * factor >= top)


def spark(values: Sequence[Value], width: float = 88, height: float = 28, pad: float = 2) -> Spark:
    """A line on its area, zero at the bottom."""
    known = [v for v in values if v is not None]
    if len(values) < 2 or not known:
        return Spark("", "")
    top = max(known) or 1.0
    step = width / (len(values) - 1)
    lines, areas = [], []
    for start, stop in _runs([v is not None for v in values]):
        points = [(i * step, height - pad - (height - 2 * pad) * (values[i] or 0.0) / top) for i in range(start, stop)]
        if len(points) == 1:
            points = [
                (max(0.0, points[0][0] - step / 2), points[0][1]),
                (min(width, points[0][0] + step / 2), points[0][1]),
            ]
        lines.append(_path(points))
        areas.append(f"M{_n(points[0][0])} {_n(height)}L{_path(points)[1:]}L{_n(points[-1][0])} {_n(height)}Z")
    return Spark("".join(lines), "".join(areas))


def gap(
    inflow: Sequence[Value],
    completed: Sequence[Value],
    width: float = 120,
    height: float = 30,
    pad: float = 2,
    top: float | None = None,
    left: float = 0,
) -> Gap:
    """Inflow against completion on one scale: ``over`` where more arrives, ``under`` where more is finished."""
    count = min(len(inflow), len(completed))
    inflow, completed = inflow[-count:] if count else [], completed[-count:] if count else []
    present = [a is not None and b is not None for a, b in zip(inflow, completed, strict=True)]
    head = top or max([v for v in (*inflow, *completed) if v is not None] or [0.0]) or 1.0
    step = width / max(1, count - 1)

    def at(index: int, value: Value) -> Point:
        return left + index * step, height - pad - (height - 2 * pad) * (value or 0.0) / head

    lines: tuple[list[str], list[str]] = ([], [])
    over: list[str] = []
    under: list[str] = []
    for start, stop in _runs(present):
        a = [at(i, inflow[i]) for i in range(start, stop)]
        b = [at(i, completed[i]) for i in range(start, stop)]
        if len(a) == 1:
            a, b = ([(x - step / 2, y), (x + step / 2, y)] for x, y in (a[0], b[0]))
        lines[0].append(_path(a))
        lines[1].append(_path(b))
        for above, upper, lower in _between(a, b):
            (over if above else under).append(_path([*upper, *reversed(lower)]) + "Z")
    missing = tuple(
        (left + max(0.0, (start - 0.5) * step), min(width, (stop - start) * step))
        for start, stop in _runs([not p for p in present])
    )
    return Gap("".join(lines[0]), "".join(lines[1]), "".join(over), "".join(under), missing, head)


def _between(a: Sequence[Point], b: Sequence[Point]) -> Iterator[tuple[bool, list[Point], list[Point]]]:
    """Areas between two lines, cut where they cross. A smaller y is a larger value."""
    upper, lower = [a[0]], [b[0]]
    sign = (b[0][1] > a[0][1]) - (b[0][1] < a[0][1])
    for index in range(1, len(a)):
        before, now = b[index - 1][1] - a[index - 1][1], b[index][1] - a[index][1]
        if before * now < 0:
            share = before / (before - now)
            x = a[index - 1][0] + share * (a[index][0] - a[index - 1][0])
            y = a[index - 1][1] + share * (a[index][1] - a[index - 1][1])
            yield sign > 0, [*upper, (x, y)], [*lower, (x, y)]
            upper, lower = [(x, y)], [(x, y)]
        here = (now > 0) - (now < 0)
        if before == 0 and here != sign and len(upper) > 1:
            if sign:
                yield sign > 0, upper, lower
            upper, lower = [a[index - 1]], [b[index - 1]]
        sign = here or sign
        upper.append(a[index])
        lower.append(b[index])
    if sign and len(upper) > 1:
        yield sign > 0, upper, lower
