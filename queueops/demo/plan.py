"""What happens in the shop, second by second: a pure function of the seed and the time, so that every demo is alike.

Trickle on every queue, a rush every 90 seconds that is more than the workers can do, a quiet phase before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from queueops.demo import store

TICK = 0.25
"""Seconds between two looks at the plan."""
RUSH_EVERY, FIRST_RUSH = 90, 10
RUSH_MAILS, RUSH_ORDERS = 145, 40
KEEN_MAILS = 5
"""Mails of a rush that go to one reader, another one each time: more than a minute's allowance, less than a rush's."""
QUIET = range(70, 85)
"""Seconds after a rush in which the customers sleep."""
RATES = {"order": 0.6, "stock": 0.7, "recommend": 0.4, "report": 0.6, "invoice": 0.1, "newsletter": 0.3}
"""Events a second."""
EVERY = {
    "catalogue": (20, 7),
    "pallet": (15, 9),
    "prices": (8, 3),
    "bad_address": (30, 5),
    "bad_batch": (600, 4),
    "forgotten_lock": (1_200, 2),
}
"""Events by the clock: seconds between two, and the second of the first."""
RARE = ("bad_batch", "forgotten_lock")
"""Troubles so seldom that a late producer makes up for them; both come before the rush of their minute."""


class Event(NamedTuple):
    """``what`` names a method of the producer; ``subject`` is the book, reader or supplier that it is about."""

    what: str
    subject: int | str


def events(seed: int, tick: int) -> Iterator[Event]:
    """All that happens in tick number ``tick`` (each lasts :data:`TICK` seconds)."""
    pick = Random(f"{seed}:{tick}")
    second = tick * TICK
    if (int(second) - FIRST_RUSH) % RUSH_EVERY not in QUIET:
        yield from _trickle(pick)
    if second == int(second):
        yield from _on_the_second(pick, int(second))


def missed(seed: int, first: int, last: int) -> Iterator[Event]:
    """The rare troubles of the ticks ``first`` up to, not including, ``last``: each once, however long that is."""
    pick = Random(f"{seed}:{first}")
    begin, end = math.ceil(first * TICK), math.ceil(last * TICK)
    for what in RARE:
        every, offset = EVERY[what]
        if begin + (offset - begin) % every < end:
            yield Event(what, store.popular_book(pick))


def _trickle(pick: Random) -> Iterator[Event]:
    for what, rate in RATES.items():
        if pick.random() < rate * TICK:
            subject = _reader(pick) if what == "newsletter" else store.popular_book(pick)
            # now and then a bestseller is wanted by several at once: the later reports wait for the first
            copies = 3 if what == "report" and pick.random() < 0.2 else 1
            yield from [Event(what, subject)] * copies


def _on_the_second(pick: Random, second: int) -> Iterator[Event]:
    for what, (every, first) in EVERY.items():
        if second % every == first:
            supplier = store.SUPPLIERS[second // every % len(store.SUPPLIERS)]
            yield Event(what, supplier if what == "prices" else store.popular_book(pick))
    if second % RUSH_EVERY == FIRST_RUSH:
        yield from (Event("newsletter", _reader(pick)) for _ in range(RUSH_MAILS))
        yield from [Event("newsletter", 1 + second // RUSH_EVERY % store.USERS)] * KEEN_MAILS
        yield from (Event("order", store.popular_book(pick)) for _ in range(RUSH_ORDERS))


def _reader(pick: Random) -> int:
    return pick.randint(1, store.USERS)
