"""C36: rates and counts from time-stamped buckets: no invented, negative or joined numbers."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.rdb.keys import SEP, Keys
from queueops.telemetry.batch import Batch
from queueops.telemetry.buckets import TEN, TenReader

US = 1_000_000
T0 = 1_700_000_040  # a whole minute
EVENTS = ("accepted", "completed", "failed")


class Clock:
    """Writes buckets as the doors do, at any time; reads them at any other."""

    def __init__(self, connection: Any, keys: Keys) -> None:
        self.connection, self.keys = connection, keys
        self.reader = TenReader(keys, EVENTS)

    def count(self, at: int, event: str, n: int = 1, queue: str = "q") -> None:
        self.connection.hincrby(self.keys.of("ten", str(at // TEN * TEN)), f"{queue}{SEP}{event}", n)

    def read(self, at: float, since: float | None, queues: tuple[str, ...] = ("q",)) -> TenReader:
        batch = Batch(self.connection)
        self.reader.plan(batch, queues, int(at * US), None if since is None else int(since * US))
        batch.run()
        self.reader.absorb()
        return self.reader


@pytest.fixture
def clock(redis: Any, keys: Keys) -> Clock:
    return Clock(redis, keys)


def test_rate_counts_the_real_time(clock: Clock) -> None:
    for second in range(T0 - 600, T0 + 5):
        clock.count(second, "completed", 10)
    rate = clock.read(T0 + 5, since=T0 - 3600).rate("q", ["completed"])
    # 60 s of closed buckets and 5 s of the current one
    assert rate.seconds == pytest.approx(65)
    assert rate.per_minute == pytest.approx(600)


def test_the_current_bucket_does_not_dip(clock: Clock) -> None:
    for second in range(T0 - 120, T0 + 1):
        clock.count(second, "completed", 10)
    rate = clock.read(T0 + 0.99, since=T0 - 3600).rate("q", ["completed"])
    assert rate.per_minute == pytest.approx(600, rel=0.01)


def test_first_seconds_after_the_start_say_not_enough(clock: Clock) -> None:
    clock.count(T0 + 1, "accepted", 500)
    assert clock.read(T0 + 5, since=T0 + 0.5).rate("q", ["accepted"]).per_minute is None
    later = clock.read(T0 + 12, since=T0 + 0.5).rate("q", ["accepted"])
    assert later.per_minute == pytest.approx(500 * 60 / 11.5)


def test_missing_bucket_is_zero_while_counting(clock: Clock) -> None:
    series = clock.read(T0, since=T0 - 7200).minutes("q", ["accepted"])
    assert series.values == (0,) * 60


def test_missing_bucket_before_counting_is_a_gap(clock: Clock) -> None:
    clock.count(T0 - 5, "accepted", 3)
    series = clock.read(T0, since=T0 - 120).minutes("q", ["accepted"])
    assert series.values[-1] == 3
    assert series.values[-2] == 0
    assert set(series.values[:-2]) == {None}


def test_without_an_epoch_nothing_is_known(clock: Clock) -> None:
    reader = clock.read(T0, since=None)
    assert set(reader.minutes("q", ["accepted"]).values) == {None}
    assert reader.rate("q", ["accepted"]).per_minute is None


def test_emptied_counters_leave_a_gap_for_a_new_reader_and_history_for_an_old_one(clock: Clock) -> None:
    for second in range(T0 - 600, T0):
        clock.count(second, "completed")
    before = clock.read(T0, since=T0 - 3600).minutes("q", ["completed"])
    clock.connection.flushall()
    clock.count(T0 + 30, "completed", 7)
    after = clock.read(T0 + 60, since=T0 + 20).minutes("q", ["completed"])
    # what was read closed stays true; what lies between is unknown; never negative
    assert after.values[-2] == before.values[-1] == 60
    assert after.values[-1] is None
    clock.reader = TenReader(clock.keys, EVENTS)
    fresh = clock.read(T0 + 60, since=T0 + 20).minutes("q", ["completed"])
    assert set(fresh.values) == {None}
    assert clock.reader.rate("q", ["completed"]).per_minute == pytest.approx(7 * 60 / 40)


def test_a_reader_that_was_away_for_ten_minutes_misses_nothing(clock: Clock) -> None:
    for second in range(T0 - 60, T0 + 600):
        clock.count(second, "completed", 2)
    clock.read(T0, since=T0 - 3600)
    series = clock.read(T0 + 600, since=T0 - 3600).minutes("q", ["completed"])
    assert series.values[-11:] == (120,) * 11


def test_a_clock_stepped_back_gives_no_negative_number(clock: Clock) -> None:
    for second in range(T0 - 120, T0):
        clock.count(second, "completed")
    clock.read(T0, since=T0 - 3600)
    reader = clock.read(T0 - 60, since=T0 - 3600)
    assert all(value is None or value >= 0 for value in reader.minutes("q", ["completed"]).values)
    rate = reader.rate("q", ["completed"]).per_minute
    assert rate is not None
    assert rate >= 0


def test_a_planted_negative_or_broken_counter_is_not_shown(clock: Clock) -> None:
    clock.connection.hset(clock.keys.of("ten", str(T0 - 10)), f"q{SEP}accepted", "-5")
    clock.connection.hset(clock.keys.of("ten", str(T0 - 20)), f"q{SEP}accepted", "x")
    clock.connection.set(clock.keys.of("ten", str(T0 - 30)), "not a hash")
    series = clock.read(T0, since=T0 - 3600).minutes("q", ["accepted"])
    assert series.values[-1] is None or series.values[-1] >= 0


def test_closed_buckets_are_read_once(clock: Clock) -> None:
    clock.read(T0, since=T0 - 3600)
    batch = Batch(clock.connection)
    clock.reader.plan(batch, ("q",), (T0 + 10) * US, (T0 - 3600) * US)
    assert len(batch) == 2  # the one that has just closed, and the current


def test_queues_do_not_mix_and_a_new_one_gets_its_history(clock: Clock) -> None:
    clock.count(T0 - 5, "accepted", 4, queue="a")
    clock.count(T0 - 5, "accepted", 6, queue="a/b")
    clock.read(T0, since=T0 - 3600, queues=("a",))
    reader = clock.read(T0 + 1, since=T0 - 3600, queues=("a", "a/b"))
    assert reader.minutes("a", ["accepted"]).values[-1] == 4
    assert reader.minutes("a/b", ["accepted"]).values[-1] == 6


def test_many_queues_are_read_newest_first_within_the_budget(clock: Clock) -> None:
    names = tuple(f"q{i}" for i in range(300))
    for name in names:
        clock.count(T0 - 5, "accepted", 1, queue=name)
    reader = clock.read(T0, since=T0 - 7200, queues=names)
    assert reader.minutes("q299", ["accepted"]).values[-1] == 1
    assert reader.minutes("q299", ["accepted"]).values[0] is None
    for _ in range(10):
        reader = clock.read(T0, since=T0 - 7200, queues=names)
    assert reader.minutes("q299", ["accepted"]).values[0] == 0


def test_minutes_of_the_clock_end_with_the_unfinished_one(clock: Clock) -> None:
    clock.count(T0 - 30, "accepted", 5)
    clock.count(T0 + 12, "accepted", 2)
    series = clock.read(T0 + 25, since=T0 - 3600).clock_minutes("q", ["accepted"], 3)
    assert series.values == (0, 5, 2)
    assert series.times == (T0 - 120, T0 - 60, T0)
    assert series.partial == 25
