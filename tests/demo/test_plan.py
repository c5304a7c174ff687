"""The plan: alike every time, on every queue within a minute, more than the workers can do only in the rushes."""

from __future__ import annotations

from collections import Counter

from queueops.demo import plan
from queueops.demo.producer import Producer


def seconds(first: int, last: int, seed: int = 1) -> list[plan.Event]:
    ticks = range(int(first / plan.TICK), int(last / plan.TICK))
    return [event for tick in ticks for event in plan.events(seed, tick)]


def test_is_a_function_of_seed_and_time() -> None:
    assert seconds(0, 100) == seconds(0, 100)
    assert seconds(0, 100) != seconds(0, 100, seed=2)


def test_every_kind_of_event_happens_in_the_first_half_minute_and_has_a_method() -> None:
    kinds = {event.what for event in seconds(0, 30)}
    assert kinds == {*plan.RATES, *plan.EVERY}
    assert all(callable(getattr(Producer(), kind)) for kind in kinds)


def test_rushes_stand_out_and_quiet_phases_are_quiet() -> None:
    per_second = [len(seconds(second, second + 1)) for second in range(300)]
    rushes = [second for second, count in enumerate(per_second) if count > 100]
    assert rushes == [10, 100, 190, 280]
    assert sum(per_second[80:95]) < 15  # only what goes by the clock


def test_the_pace_suits_two_workers_on_a_laptop() -> None:
    counts = Counter(event.what for event in seconds(0, 1_800))
    jobs = counts.total() + 2 * counts["order"] + 8 * counts["bad_batch"]
    assert 4 < jobs / 1_800 < 10
    assert counts["forgotten_lock"] == 2 and counts["bad_batch"] == 3


def test_the_rare_troubles_come_before_the_first_rush() -> None:
    assert {*plan.RARE} <= {event.what for event in seconds(0, plan.FIRST_RUSH)}


def test_what_a_late_producer_makes_up_for() -> None:
    def kinds(first: float, last: float) -> list[str]:
        return [event.what for event in plan.missed(1, int(first / plan.TICK), int(last / plan.TICK))]

    assert kinds(0, 30) == ["bad_batch", "forgotten_lock"]
    assert kinds(0, 86_400) == ["bad_batch", "forgotten_lock"]  # once, not once for each
    assert kinds(0, 2) == kinds(2.25, 4) == kinds(4.25, 604) == []
    assert kinds(2, 2.25) == kinds(1_190, 1_203) == ["forgotten_lock"]


def test_no_reader_is_sent_more_than_the_limit_lets_through() -> None:
    shop, counts = Producer(), Counter[int]()
    for event in seconds(0, 3_600):
        if event.what == "newsletter":
            counts[int(event.subject)] += 1
        elif event.what in ("order", "pallet"):
            counts[shop.customer()] += 2  # on its way, and the review a minute later
    assert max(counts.values()) < 60 * 3 / 2
    rush = Counter(event.subject for event in seconds(10, 11) if event.what == "newsletter")
    assert 3 < max(rush.values()) < 3 * plan.RUSH_EVERY / 60 + 2  # a line to look at, gone before the next rush
