from __future__ import annotations

import pytest

from dashboard import charts, wording


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "–"), (0, "0 s"), (0.44, "0.4 s"), (9.9, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 m 00 s"),
     (684, "11 m 24 s"), (7800, "2 h 10 m"), (200_000, "2 d 7 h"), (-5, "0 s")],
)  # fmt: skip
def test_ages(seconds: float | None, text: str) -> None:
    assert wording.age(seconds).replace(wording.NBSP, " ") == text


@pytest.mark.parametrize(("age", "heat"), [(None, 0), (29, 0), (30, 1), (60, 2), (90, 3), (180, 4), (10**9, 4)])
def test_heat(age: float | None, heat: int) -> None:
    assert wording.heat(age, 60) == heat


@pytest.mark.parametrize(
    ("rate", "text"),
    [(None, "–"), (0, "0"), (0.01, "<0.1"), (0.44, "0.4"), (33.3, "33.3"), (33.0, "33"), (1556.2, "1,556")],
)
def test_rates(rate: float | None, text: str) -> None:
    assert wording.rate(rate) == text


def test_control_and_direction_characters_are_written_out() -> None:
    assert wording.visible("a\nb\x00\x1b[31m\u202eq") == "a\\nb\\x00\\x1b[31m\\u202eq"
    assert wording.visible("キュー") == "キュー"


def test_an_unreasonable_moment_is_none() -> None:
    assert wording.moment(10**30) is None
    assert wording.moment(0) is None


@pytest.mark.parametrize(
    "number", [float("nan"), float("inf"), float("-inf"), 10**400, -(10**400), 10**5000], ids=lambda number: "bad"
)
def test_no_number_is_unknown_and_breaks_no_page(number: float) -> None:
    for words in (
        wording.age, wording.fine, wording.times, wording.count, wording.rate, wording.signed, wording.size,
    ):  # fmt: skip
        assert words(number) == "–"  # type: ignore[operator]
    assert wording.heat(number, 60) == 0 and wording.parts(number) == [] and wording.moment(number) is None


def test_a_gap_stays_a_gap() -> None:
    gap = charts.gap([1, None, 3, 4], [1, None, 2, 5])
    assert gap.inflow.count("M") == 2
    assert len(gap.missing) == 1


def test_bands_cover_what_lies_between() -> None:
    gap = charts.gap([1, 3], [3, 1])
    assert gap.over and gap.under  # they cross once


@pytest.mark.parametrize("values", [[], [None], [0, 0], [None, None, None], [5], [1, None]])
def test_short_or_empty_series_do_not_fail(values: list[float | None]) -> None:
    charts.spark(values)
    charts.gap(values, values)
    charts.gap(values, [])


@pytest.mark.parametrize("top", [0, 0.3, 1, 7, 99, 101, 12345.6])
def test_the_axis_ends_at_a_round_number_above(top: float) -> None:
    assert top <= charts.nice(top) <= max(1.0, top * 2.5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.0, "0 ms"),
        (0.0004, "<1 ms"),
        (0.0125, "12 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (75, "1 m 15 s"),
    ],
)
def test_short_times_in_milliseconds(seconds: float | None, text: str) -> None:
    assert wording.fine(seconds).replace(wording.NBSP, " ") == text
