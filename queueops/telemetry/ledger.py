"""Does the number of open jobs follow from what was recorded? after − before − (plus − minus) = remainder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from queueops.telemetry.census import QueueCensus
from queueops.telemetry.events import MINUS, PLUS


@dataclass(frozen=True, slots=True)
class Ledger:
    """Open work of a queue between two moments.

    ``remainder`` is ``None`` when the counters were reset in between: then nothing can be said.
    ``gone`` jobs of the time, whose data were found missing, explain as much of a negative one.
    """

    queue: str
    before: int
    after: int
    plus: Mapping[str, int]
    minus: Mapping[str, int]
    gone: int = 0
    remainder: int | None = None

    @property
    def balanced(self) -> bool | None:
        return None if self.remainder is None else self.remainder == 0

    @property
    def sentence(self) -> str:
        """The remainder in words."""
        if self.remainder is None:
            return "The counters were reset in this time: the balance is unknown."
        if self.remainder > 0:
            return f"{self.remainder:,} came from producers without queueops."
        if self.remainder < 0:
            return f"{-self.remainder:,} gone without a record."
        return "It balances."


def differences(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int] | None:
    """What each counter grew by; ``None`` if any fell: a reset."""
    grown = {event: after.get(event, 0) - before.get(event, 0) for event in before.keys() | after.keys()}
    return None if any(value < 0 for value in grown.values()) else grown


def ledger(
    queue: str, before: int, after: int, totals_before: Mapping[str, int], totals_after: Mapping[str, int]
) -> Ledger:
    """The ledger from the open jobs and the totals at two moments."""
    grown = differences(totals_before, totals_after)
    if grown is None:
        return Ledger(queue, before, after, {}, {})
    plus = {event: grown[event] for event in PLUS if grown.get(event)}
    minus = {event: grown[event] for event in MINUS if grown.get(event)}
    remainder = after - before - (sum(plus.values()) - sum(minus.values()))
    return Ledger(queue, before, after, plus, minus, grown.get("gone", 0), remainder)


def between(before: QueueCensus, after: QueueCensus) -> Ledger:
    """The ledger of a queue between two censuses that read the totals."""
    return ledger(after.name, before.open.total, after.open.total, before.totals or {}, after.totals or {})
