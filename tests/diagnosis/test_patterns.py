"""Generated histories: for each pattern the right card leads, a healthy peak fires none, two at once name both."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from queueops.diagnosis.patterns import Card, Scene, Work, cards

SEEDS = range(40)


def around(rng: random.Random, mean: float) -> float:
    return max(0.0, rng.gauss(mean, mean**0.5))


def healthy(rng: random.Random) -> Scene:
    """A queue at its usual pace, some jobs wait a moment."""
    pace, mean = rng.uniform(20, 200), rng.uniform(0.1, 3.0)
    minutes = [(around(rng, pace), around(rng, pace)) for _ in range(15)]
    works = (
        Work("shop.send", "mail", pace, pace, 0.01 * pace, pace * mean * 15, mean, mean * rng.uniform(0.8, 1.2)),
        Work("shop.bill", "bills", pace, pace, 0.0, 0.3 * pace * mean * 15, mean, mean),
    )
    return Scene("mail", round(pace), 10.0, 60.0, minutes, pace, pace, busy=3, idle=1, works=works)


def peak(rng: random.Random) -> Scene:
    """Twice as much arrives for some minutes; the wait stays inside the target."""
    s = healthy(rng)
    minutes = [(a * (2 if n > 8 else 1), b) for n, (a, b) in enumerate(s.minutes)]
    return replace(s, minutes=minutes, waiting=s.waiting * 6, oldest_age=25.0)


def inflow(rng: random.Random) -> Scene:
    s, more = healthy(rng), rng.uniform(1.6, 4)
    minutes = [(a * more, b) for a, b in s.minutes]
    return replace(s, minutes=minutes, waiting=s.waiting * 12, oldest_age=rng.uniform(70, 900), idle=0)


def standing(rng: random.Random) -> Scene:
    s = healthy(rng)
    minutes = [(a, 0.0) for a, _ in s.minutes]
    works = (replace(s.works[0], completed=0.0, ran=0.0, mean=None), replace(s.works[1], ran=0.0))
    return replace(
        s, minutes=minutes, waiting=s.waiting * 12, oldest_age=rng.uniform(70, 900), works=works, oldest_run=800
    )


def slow(rng: random.Random) -> Scene:
    s, by = healthy(rng), rng.uniform(2.0, 6.0)
    minutes = [(a, b / by) for a, b in s.minutes]
    first = s.works[0]
    works = (replace(first, mean=(first.usual_mean or 1) * by, completed=first.completed / by), s.works[1])
    return replace(s, minutes=minutes, waiting=s.waiting * 12, oldest_age=rng.uniform(70, 900), works=works, idle=0)


def failing(rng: random.Random) -> Scene:
    s = healthy(rng)
    lost = rng.uniform(0.5, 0.9)
    minutes = [(a, b * (1 - lost)) for a, b in s.minutes]
    first = s.works[0]
    works = (replace(first, completed=first.completed * (1 - lost), failed_attempts=first.completed * lost), s.works[1])
    return replace(
        s, minutes=minutes, waiting=s.waiting * 8, oldest_age=rng.uniform(70, 900), works=works, usual_in=s.inflow
    )


def starved(rng: random.Random) -> Scene:
    s = healthy(rng)
    part = rng.uniform(0.0, 0.3)
    minutes = [(a, b * part) for a, b in s.minutes]
    first, other = s.works
    works = (replace(first, completed=first.completed * part, ran=first.ran * part), replace(other, ran=first.ran * 3))
    return replace(
        s, minutes=minutes, waiting=s.waiting * 9, oldest_age=rng.uniform(70, 900), works=works, idle=0, busy=4
    )


def found(scene: Scene) -> list[str]:
    return [card.pattern for card in cards(scene)]


@pytest.mark.parametrize("kind", [inflow, standing, slow, failing, starved])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_card_leads(kind: Callable[[random.Random], Scene], seed: int) -> None:
    assert found(kind(random.Random(seed)))[:1] == [kind.__name__]


@pytest.mark.parametrize("kind", [healthy, peak])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_healthy_queue_and_a_healthy_peak_fire_none(kind: Callable[[random.Random], Scene], seed: int) -> None:
    assert not found(kind(random.Random(seed)))


@pytest.mark.parametrize("seed", SEEDS)
def test_two_at_once_are_both_named(seed: int) -> None:
    rng = random.Random(seed)
    s = failing(rng)
    both = replace(s, minutes=[(3 * a, b) for a, b in s.minutes], usual_in=s.inflow, usual_out=s.completed)
    assert {"inflow", "failing"} <= set(found(both))
    t = slow(rng)
    first = replace(t.works[0], failed_attempts=t.works[0].completed)
    assert {"slow", "failing"} <= set(found(replace(t, works=(first, t.works[1]))))


@pytest.mark.parametrize(
    ("change", "kind", "about"),
    [
        ({"paused": True}, "paused", ""),
        ({"blocked": {"S:disk": 9_000, "R:mail": 3}, "waiting": 9_003}, "blocked", "S:disk"),
        ({"busy": 0, "idle": 0, "silent": 2}, "silent", ""),
        ({"busy": 0, "idle": 0}, "nobody", ""),
        ({"busy": 2, "idle": 0}, "stuck", ""),
        ({"busy": 0, "idle": 2}, "idle", ""),
    ],
)
def test_why_a_queue_stands_still_is_told_apart(change: dict[str, object], kind: str, about: str) -> None:
    scene = replace(standing(random.Random(1)), **change)  # type: ignore[arg-type]
    card: Card = cards(scene)[0]
    assert (card.pattern, card.kind, card.about) == ("standing", kind, about)


@pytest.mark.parametrize("seed", SEEDS)
def test_jobs_that_wait_for_one_control_while_others_are_done(seed: int) -> None:
    s = inflow(random.Random(seed))
    first = cards(replace(s, usual_in=None, usual_out=None, idle=2, blocked={"L:import": s.waiting}))[0]
    assert (first.pattern, first.kind, first.about) == ("standing", "blocked", "L:import")


def test_who_holds_the_workers_is_named() -> None:
    card = cards(starved(random.Random(3)))[0]
    assert (card.about, card.supports[0].facts["queue"]) == ("shop.bill", "bills")


@pytest.mark.parametrize(
    ("waiting", "age", "late"), [(0, 99.0, False), (1, 59.0, False), (1, 60.0, True), (6, 29.0, False), (6, 30.0, True)]
)
def test_what_is_late(waiting: int, age: float, late: bool) -> None:
    assert Scene.is_late(waiting, age, 60.0) is late


def test_without_minutes_nothing_is_guessed() -> None:
    assert cards(replace(inflow(random.Random(1)), minutes=())) == ()
