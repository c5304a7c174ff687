"""release: take holders off a control by force."""

from __future__ import annotations

from dataclasses import dataclass

from queueops.conf import conf
from queueops.models import Intervention
from queueops.operations import names
from queueops.operations.errors import OperationError
from queueops.operations.interventions import intervene
from queueops.operations.limits import instances
from queueops.operations.protocol import run
from queueops.operations.text import checked_reason
from queueops.rdb.client import Server, ask_each
from queueops.rdb.keys import KINDS, SEP, instance

PER_CALL = 50
SHORTEST = 8
"""Characters of a token that are enough to name its holder."""
MOST = 10_000
"""Holders that one call of the verb releases."""


@dataclass(frozen=True, slots=True)
class Released:
    """``holders``: token, job and worker of each hold that was taken away. ``left``: holders still there."""

    control: str
    key: str
    holders: tuple[tuple[str, str, str], ...]
    left: int
    intervention: Intervention


def release(
    control: str, key: str = "", *, token: str | None = None, all: bool = False, actor: str, reason: str
) -> Released:
    """Take one holder (its token, or at least the 8 first characters of it) or all off a control's key.

    Jobs that hold it go on running; their own release finds nothing and says so in the changelog. Waiters are let in.
    """
    if bool(token) == bool(all):
        raise OperationError("Say which holder: its token, or all of them.", "no_holder")
    checked_reason(reason)
    found = names.check_control(control)
    wanted = instance(KINDS[found[0]], found[2:], key)
    server, full = _find(found, wanted, token)
    target = names.readable(found) + (f" key {key}" if key else "")
    with intervene("release", target, actor=actor, reason=reason) as record:
        before = server.connection.zcard(conf.keys.of("holders", wanted))
        record.before(holders=before, token=(full or "")[:8] or None, all=all)
        released: list[tuple[str, str, str]] = []
        left = before
        while len(released) < MOST:
            answer = run(server, "force_release", wanted, full or "", actor, reason, PER_CALL)
            left, flat = int(answer[0]), [part.decode("utf-8", "replace") for part in answer[1:]]
            released += [(flat[i], flat[i + 1], flat[i + 2]) for i in range(0, len(flat), 3)]
            # newcomers take the room at once: only those who held it at the beginning are meant
            if full or not flat or not left or len(released) >= before:
                break
        record.after = {
            "released": [{"token": t[:8], "job": job, "worker": worker} for t, job, worker in released[:100]],
            "count": len(released),
            "left": left,
        }
    return Released(found, key, tuple(released), left, record.row)


def _find(control: str, wanted: str, token: str | None) -> tuple[Server, str | None]:
    """The server where the instance has holders (or charges), and the full token."""
    keys = conf.keys
    holders = keys.of("holders", wanted)

    def there(server: Server) -> Server | None:
        return server if server.connection.exists(holders, keys.of("rate", wanted)) else None

    found, silent = ask_each(there)
    for server in filter(None, found):
        if token is None:
            return server, None
        if server.connection.zscore(holders, token) is not None:
            return server, token
        known = [raw.decode("utf-8", "replace") for raw in server.connection.zrange(holders, 0, MOST - 1)]
        hits = [full for full in known if len(token) >= SHORTEST and full.startswith(token)]
        if len(hits) == 1:
            return server, hits[0]
        if known:
            raise OperationError(_no_such(token, known), "unknown_token")
    text = _nobody(control, wanted)
    if silent:
        entries = ", ".join(server.entry for server in silent)
        text += f" The server of {entries} does not answer: who holds it there is unknown."
    raise OperationError(text, "not_held")


def _no_such(token: str, known: list[str]) -> str:
    meant = [full for full in known if full.startswith(token)]
    shown = f"Tokens here: {', '.join(full[:8] for full in known[:10])}."
    if len(token) < SHORTEST:
        return f"A token is named by at least its first {SHORTEST} characters, and {token!r} is shorter. {shown}"
    if len(meant) > 1:
        return f"{token!r} begins the tokens of {len(meant)} holders: give more of it. {', '.join(meant[:10])}."
    return f"No holder has the token {token!r}. {shown}"


def _nobody(control: str, wanted: str) -> str:
    text = f"Nobody holds {names.readable(control)}"
    key = wanted.partition(SEP)[2]
    text += f" with key {key!r}." if key else "."
    held = []
    for found in ask_each(lambda server: instances(server, control, most=10))[0]:
        for raw in found:
            other = raw.decode("utf-8", "replace").partition(SEP)[2]
            if other != key:
                held.append(repr(other))
    if held:
        text += " Keys in use: " + ", ".join(held[:10]) + "."
    return text
