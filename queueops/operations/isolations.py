"""isolate and unisolate: jobs of a function, with an error or with a key go to quarantine instead of running."""

from __future__ import annotations

import re

from queueops.models import Isolation
from queueops.operations import names
from queueops.operations.clock import end_after
from queueops.operations.errors import OperationError
from queueops.operations.protocol import Change, Mirror, active, lift, put_in_force, run
from queueops.operations.text import checked_actor, checked_name, checked_reason
from queueops.rdb.client import Server, answering_server
from queueops.rdb.keys import KINDS, instance

SEPARATOR = "="
"""Between control and key."""

PREFIX = {"function": "f:", "error": "e:", "key": "k:"}


class IsolationMirror(Mirror[Isolation]):
    model = Isolation
    table = "isolated"

    def field(self, row: Isolation) -> str:
        return PREFIX[row.kind] + row.name

    def put(self, server: Server, row: Isolation) -> int:
        run(server, "isolate", "set", self.field(row), self.text(row), row.actor, row.reason)
        return 0

    def remove(self, server: Server, field: str, pk: str, by: str, why: str) -> int:
        run(server, "isolate", "lift", field, pk, by, why)
        return 0


MIRROR = IsolationMirror()


def isolate(kind: str, name: str, *, actor: str, reason: str, seconds: float | None = None) -> Change:
    """Send jobs of a ``function``, with an ``error`` (fingerprint) or a ``key`` (``CONTROL=KEY``) to quarantine.

    When it returns, no such job starts any more; it lasts ``seconds`` or until lifted.
    """
    row = _row(kind, name)
    row.actor, row.reason = checked_actor(actor), checked_reason(reason)
    row.until = end_after(answering_server().connection, seconds)
    return put_in_force(MIRROR, row, verb="isolate", target=f"{kind} {row.text or row.name}")


def unisolate(kind: str, name: str, *, actor: str, reason: str) -> Change:
    """Let such jobs run again. Those already in quarantine stay there until they are replayed."""
    wanted = _row(kind, name, new=False)
    row = active(MIRROR, wanted)
    if row is None:
        raise OperationError(f"{kind.capitalize()} {name!r} is not isolated.", "not_isolated")
    checked_reason(reason)
    return lift(MIRROR, row, verb="unisolate", target=f"{kind} {row.text or row.name}", actor=actor, reason=reason)


def _row(kind: str, name: str, *, new: bool = True) -> Isolation:
    if kind == "function":
        return Isolation(kind=kind, name=names.check_function(name) if new else checked_name("function", name))
    if kind == "error":
        if not re.fullmatch(r"[0-9a-zA-Z]{6,64}", name):
            raise OperationError(
                f"An error is named by its fingerprint (letters and digits), not {name!r}.", "bad_name"
            )
        return Isolation(kind=kind, name=name)
    if kind == "key":
        if SEPARATOR not in name:
            raise OperationError("A key is written CONTROL=KEY, for example semaphore:s3-upload=eu.", "bad_name")
        control, key = name.split(SEPARATOR, 1)
        found = names.check_control(control)
        return Isolation(kind=kind, name=instance(KINDS[found[0]], found[2:], key), text=f"{control}={key}")
    raise OperationError(f"Isolate a function, an error or a key, not {kind!r}.", "bad_kind")
