"""pause and resume: a queue, a function, or everything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from queueops.models import Pause
from queueops.operations import names
from queueops.operations.clock import end_after
from queueops.operations.errors import OperationError
from queueops.operations.protocol import Change, Mirror, active, lift, put_in_force, run
from queueops.operations.text import checked_actor, checked_reason
from queueops.rdb.client import Server, answering_server, server_of, servers

CHUNK = 50
"""Jobs let in by a resume at once; the workers' claims let in the rest, as many at a time."""

PREFIX = {"queue": "q:", "function": "f:"}


class PauseMirror(Mirror[Pause]):
    model = Pause
    table = "paused"

    def field(self, row: Pause) -> str:
        return "all" if row.kind == "all" else PREFIX[row.kind] + row.name

    def servers(self, row: Pause) -> list[Server]:
        return [server_of(row.name)] if row.kind == "queue" else servers()

    def put(self, server: Server, row: Pause) -> int:
        run(server, "pause", self.field(row), self.text(row), row.actor, row.reason)
        return 0

    def remove(self, server: Server, field: str, pk: str, by: str, why: str) -> int:
        return int(run(server, "resume", field, pk, by, why, CHUNK)[1])


MIRROR = PauseMirror()


def pause(kind: str, name: str = "", *, actor: str, reason: str, seconds: float | None = None) -> Change:
    """Start nothing of a queue, of a function, or at all (kind ``all``), for ``seconds`` or until resumed.

    When it returns, no job of it starts any more; running ones finish. Jobs keep arriving and wait. Pausing what is
    paused replaces the reason and the end.
    """
    row = _row(kind, name)
    if kind == "queue":
        names.check_queue(name)
    elif kind == "function":
        names.check_function(name)
    row.actor, row.reason = checked_actor(actor), checked_reason(reason)
    row.until = end_after(_clock(row).connection, seconds)
    return put_in_force(MIRROR, row, verb="pause", target=target(kind, name))


def resume(kind: str, name: str = "", *, actor: str, reason: str) -> Change:
    """Lift one pause. ``all`` lifts the pause of everything; queues and functions paused by name stay paused.

    ``notes`` of the result name the pauses that still hold it, or a part of it.
    """
    row = active(MIRROR, _row(kind, name))
    if row is None:
        raise _not_paused(kind, name)
    checked_reason(reason)
    done = lift(MIRROR, row, verb="resume", target=target(kind, name), actor=actor, reason=reason)
    return replace(done, notes=_still_paused(kind))


def _row(kind: str, name: str) -> Pause:
    if kind not in Pause.Kind.values:
        raise OperationError(f"Pause a queue, a function or all, not {kind!r}.", "bad_kind")
    if kind == "all" and name:
        raise OperationError("Pausing everything takes no name.", "bad_name")
    return Pause(kind=kind, name=name)


def _clock(row: Pause) -> Server:
    return server_of(row.name) if row.kind == "queue" else answering_server()


def _still_paused(kind: str) -> tuple[str, ...]:
    """Pauses that still hold what was resumed, or a part of it; at most 20."""
    others = Pause.objects.filter(slot__isnull=False)
    if kind != "all":
        others = others.filter(kind="all")
    return tuple(target(other.kind, other.name) for other in others.order_by("kind", "name")[:20])


def _not_paused(kind: str, name: str) -> OperationError:
    if kind == "queue":
        names.check_queue(name)
    text = f"{target(kind, name)} is not paused itself" if kind != "all" else "There is no pause of everything"
    others: list[Any] = list(Pause.objects.filter(slot__isnull=False)[:10])
    if others:
        text += "; paused: " + ", ".join(target(p.kind, p.name) for p in others)
    return OperationError(text[:1].upper() + text[1:] + ".", "not_paused")


def target(kind: str, name: str) -> str:
    """How the thing is named in texts."""
    return "everything" if kind == "all" else f"{kind} {name}"
