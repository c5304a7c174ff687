"""limit: an operator's limit on a control, over the declared one."""

from __future__ import annotations

import json
from typing import Any

from queueops.conf import conf
from queueops.models import Override
from queueops.operations import names
from queueops.operations.clock import end_after
from queueops.operations.errors import OperationError
from queueops.operations.protocol import Change, Mirror, active, lift, put_in_force, run
from queueops.operations.text import checked_actor, checked_reason
from queueops.rdb.client import Server, answering_server, ask_each

MAX_LIMIT = 1_000_000
PER_CALL = 20
MOST_INSTANCES = 2000
"""Instances whose waiters are woken by the verb itself; what is left wakes with the next release or recheck."""
SCANS = 300
"""Calls of about a thousand instances each that a search may take."""


class OverrideMirror(Mirror[Override]):
    model = Override
    table = "overrides"

    def field(self, row: Override) -> str:
        return row.name

    def record(self, row: Override) -> dict[str, Any]:
        return {**super().record(row), "limit": row.limit}

    def put(self, server: Server, row: Override) -> int:
        run(server, "limit", "set", row.name, self.text(row), row.actor, f"limit {row.limit}: {row.reason}")
        return wake(server, row.name)

    def remove(self, server: Server, field: str, pk: str, by: str, why: str) -> int:
        run(server, "limit", "lift", field, pk, by, f"as declared again: {why}")
        return wake(server, field)


MIRROR = OverrideMirror()


def limit(control: str, n: int | None, *, actor: str, reason: str, seconds: float | None = None) -> Change:
    """Let at most ``n`` in, for ``seconds`` or until changed; 0 stops new starts; None goes back to the declared limit.

    Holders stay; a lower limit drains. A higher one wakes waiters before this returns.
    """
    found = names.check_control(control)
    checked_reason(reason)
    if n is None:
        row = active(MIRROR, Override(name=found))
        if row is None:
            raise OperationError(f"{names.readable(found)} has no operator's limit.", "not_limited")
        return lift(MIRROR, row, verb="unlimit", target=names.readable(found), actor=actor, reason=reason)
    if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= MAX_LIMIT:
        raise OperationError(f"A limit is a whole number from 0 to {MAX_LIMIT}, not {n!r}.", "bad_limit")
    if found.startswith("U:"):
        raise OperationError("A unique lock has no limit: it is held by one job. Release it instead.", "no_limit")
    if found[:2] in ("L:", "X:") and n > 1:
        raise OperationError("A lock lets one in at a time: its limit is 0 (stop) or 1.", "bad_limit")
    row = Override(name=found, limit=n, actor=checked_actor(actor), reason=checked_reason(reason))
    row.until = end_after(answering_server().connection, seconds)
    return put_in_force(MIRROR, row, verb="limit", target=names.readable(found), facts={"declared": declared(found)})


def declared(control: str) -> int | None:
    """The limit that the code declares, where it is known."""
    if control[:2] in ("L:", "X:"):
        return 1
    for raw in ask_each(lambda server: server.connection.hget(conf.keys.static("controls"), control))[0]:
        if raw:
            try:
                value = json.loads(raw).get("limit")
            except (ValueError, AttributeError):
                continue
            return value if isinstance(value, int) else None
    return None


def instances(server: Server, control: str, most: int = MOST_INSTANCES) -> list[bytes]:
    """Live instances (one per key) of a control, in no order, at most ``most``."""
    pattern = "".join("\\" + c if c in "*?[]\\" else c for c in control + names.SEP) + "*"
    found: list[bytes] = []
    cursor = 0
    for _ in range(SCANS):
        cursor, page = server.connection.zscan(conf.keys.static("instances"), cursor, match=pattern, count=1000)
        found += [raw for raw, _ in page]
        if not cursor or len(found) >= most:
            break
    return found[:most]


def wake(server: Server, control: str) -> int:
    """Let in whoever fits now, in calls of a bounded size. Returns how many jobs woke."""
    found, woken = instances(server, control), 0
    for start in range(0, len(found), PER_CALL):
        woken += int(run(server, "limit", "wake", control, "", "", "", *found[start : start + PER_CALL])[1])
    return woken
