from __future__ import annotations

import pytest

from queueops.telemetry.health import Need, QueueState, duration_text, judge, name_text


def state(name: str = "q", age: float | None = None, *, max_age: float = 60, paused: bool = False) -> QueueState:
    return QueueState(name, max_age, age, 1 if age else 0, paused, 1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (660, "11 min"),
        (3600, "1 h"),
        (86_400, "24 h"),
        (172_800, "2 days"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("courier", "courier"),
        ("a/b", "a/b"),
        ("キュー", "キュー"),
        ("", "“”"),
        ("two words", "“two words”"),
        ("a\nb", "“a\\u000ab”"),
        ("\u202ex", "“\\u202ex”"),
        ("'; DROP", "“'; DROP”"),
    ],
)
def test_names(name: str, text: str) -> None:
    assert name_text(name) == text


def test_on_time_is_ok() -> None:
    assert judge([state(age=59)], []).level == "ok"


def test_each_queue_is_judged_by_its_own_target() -> None:
    health = judge([state("slow", 500, max_age=600), state("fast", 20, max_age=10)], [])
    assert health.sentence == "Unhealthy: fast is 20 s behind."
    assert health.level == "bad"


def test_just_late_is_a_warning() -> None:
    assert judge([state(age=61)], []).level == "warn"


def test_many_late_queues_are_counted() -> None:
    health = judge([state(f"q{i}", 100 + i) for i in range(9)], [])
    assert health.sentence.startswith("Unhealthy: q8 is")
    assert health.sentence.endswith("6 more queues are behind.")
    assert len([n for n in health.needs if n.kind == "late"]) == 9


def test_nothing_known_is_not_ok() -> None:
    assert judge([], []).level == "unknown"
    assert judge([state()], [], epoch=False).level == "unknown"


def test_something_bad_elsewhere_is_said() -> None:
    health = judge([state()], [Need("bad", "worker", "nobody works.")])
    assert (health.level, health.sentence) == ("bad", "Unhealthy: nobody works.")


def test_a_target_of_zero_divides_nothing() -> None:
    assert judge([state(age=1, max_age=0)], []).level == "bad"


def quarantined(*names: str) -> list[Need]:
    return [Need("warn", "quarantine", f"2 jobs are in quarantine on {name}.") for name in names]


def test_all_that_needs_a_person_is_said_and_never_after_a_full_stop_that_sounds_well() -> None:
    health = judge([state()], quarantined("a", "b"))
    text = "On time, but 2 things need a person: 2 jobs are in quarantine on a. 2 jobs are in quarantine on b."
    assert (health.sentence, health.healthy) == (text, False)
    assert judge([state()], quarantined(*"abcde")).sentence.endswith("on c. And 2 more.")
    held = judge([state("q", 9, paused=True)], quarantined("a"))
    assert held.sentence == (
        "On time, except what is paused: q. 1 thing needs a person: 2 jobs are in quarantine on a."
    )


def test_something_bad_beside_a_queue_that_is_just_late_is_bad() -> None:
    assert judge([state(age=61)], [Need("bad", "worker", "nobody works.")]).level == "bad"


@pytest.mark.parametrize(
    ("age", "waiting", "inflow", "completed", "text"),
    [
        (20, 400, 90, 60, "q will not clear: it grows by 30.0/min."),
        (40, 1, 0, 0, "q will not clear: nothing completes."),
        (20, 5, 90, 60, ""),  # a moment's work
        (20, 400, 60, 60, ""),
        (40, 400, 60, 60, ""),
        (20, 400, None, None, ""),
    ],
)
def test_a_queue_that_will_not_clear_is_not_well(
    age: float, waiting: int, inflow: float | None, completed: float | None, text: str
) -> None:
    health = judge([QueueState("q", 60, age, waiting, False, 1, inflow, completed)], [])
    assert [need.text for need in health.needs] == ([text] if text else [])
    assert health.level == ("warn" if text else "ok")
    paused = judge([QueueState("q", 60, age, waiting, True, 1, inflow, completed)], [])
    assert paused.needs == ()
