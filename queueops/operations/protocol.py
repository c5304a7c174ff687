"""How a setting (pause, isolation, override) comes into force and goes again.

SQL row ``applying`` → Redis script carrying its id → ``in_force``; and back: ``lifting`` → script → ``lifted``.
A process killed between two of these steps leaves a row that ``recover`` finishes; an error takes the change back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone

from queueops.conf import conf
from queueops.models import ACTIVE, Intervention, Setting, SettingState
from queueops.operations import interventions
from queueops.operations.clock import to_us
from queueops.operations.text import cleaned
from queueops.rdb import scripts
from queueops.rdb.client import Server, ask_each, servers

S = TypeVar("S", bound=Setting)


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that was put in force or lifted. ``replaced`` is the earlier one of the same thing.

    ``behind``: entries of ``RQ_QUEUES`` whose server did not answer; the monitor brings them the change when they do.
    """

    setting: Any
    intervention: Intervention
    replaced: Any = None
    woken: int = 0
    notes: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


class Mirror(Generic[S]):
    """One kind of setting and its place in Redis. Subclasses say where and with which script."""

    model: type[S]
    table: str
    """Name of the hash in ``rdb.keys`` that holds the records in force."""

    def field(self, row: S) -> str:
        """The field of the hash."""
        raise NotImplementedError

    def servers(self, row: S) -> list[Server]:
        """Where the row belongs; every server unless said otherwise."""
        return servers()

    def record(self, row: S) -> dict[str, Any]:
        """What Redis holds: enough for the doors, and for a page to say who and why."""
        return {
            "until": to_us(row.until),
            "by": row.actor,
            "reason": row.reason,
            "id": row.pk,
            "at": to_us(row.created),
        }

    def put(self, server: Server, row: S) -> int:
        """Run the script that puts the row in force; repeating it is harmless. Returns how many waiters woke."""
        raise NotImplementedError

    def remove(self, server: Server, field: str, pk: str, by: str, why: str) -> int:
        """Run the script that removes the record if it carries ``pk`` ("" = any). Returns how many jobs were let in."""
        raise NotImplementedError

    def text(self, row: S) -> str:
        """The record as Redis keeps it, with a stable order of its members."""
        return json.dumps(self.record(row), sort_keys=True, ensure_ascii=False)

    def slot(self, row: S) -> str:
        """Two live rows of the same thing would have the same slot, which the database refuses."""
        return hashlib.sha256(f"{self.table}\n{self.field(row)}".encode()).hexdigest()


def run(server: Server, name: str, *args: Any) -> Any:
    """Run a script; on a Redis that lost its settings, mirror them first."""
    try:
        return scripts.run(server.connection, name, *args)
    except scripts.ScriptError as error:
        if error.code != "MIRROR_MISSING":
            raise
        from queueops import mirror

        mirror.rebuild(server)
        return scripts.run(server.connection, name, *args)


def put_in_force(mirror: Mirror[S], row: S, *, verb: str, target: str, facts: dict[str, Any] | None = None) -> Change:
    """Put an unsaved row in force on its servers. When it returns, the doors obey it.

    A server that does not answer, while another does, keeps nobody from stopping the rest: SQL is the truth, the row
    stays ``applying``, and ``recover`` finishes it there.
    """
    with interventions.intervene(verb, target, actor=row.actor, reason=row.reason) as record:
        record.lasts = True
        row.intervention = record.row
        record.ends(row.until)
        replaced = occupy(mirror, row)
        record.before(**(described(replaced) if replaced else {}), **(facts or {}))
        try:
            woken, silent = ask_each(lambda server: mirror.put(server, row), mirror.servers(row))
        except BaseException:
            _give_back(row, replaced)
            raise
        if not silent:
            confirm(row)
        if replaced is not None:
            interventions.end(replaced.intervention_id, row.actor)
        record.after = described(row)
        if silent:
            record.leave(behind=entries(silent))
    return Change(row, record.row, replaced, sum(woken), behind=entries(silent))


def entries(found: Iterable[Server]) -> tuple[str, ...]:
    """Servers as the settings name them."""
    return tuple(server.entry for server in found)


def occupy(mirror: Mirror[S], row: S) -> S | None:
    """Save the row as ``applying`` in the slot of the one that it replaces, which is returned."""
    row.slot, row.state = mirror.slot(row), SettingState.APPLYING
    row.created = row.created or timezone.now()
    for attempt in (1, 2, 3):
        try:
            with transaction.atomic():
                old = mirror.model._default_manager.select_for_update().filter(slot=row.slot).first()
                if old is not None:
                    mirror.model._default_manager.filter(pk=old.pk).update(
                        slot=None, state=SettingState.LIFTED, lifted_at=timezone.now(), lifted_by=row.actor
                    )
                row.save(force_insert=True)
            return old
        except IntegrityError:
            if attempt == 3:
                raise
    return None


def confirm(row: Setting) -> None:
    """The script ran everywhere; unless somebody lifted the row meanwhile, it is in force."""
    changed = (
        type(row)._default_manager.filter(pk=row.pk, state=SettingState.APPLYING).update(state=SettingState.IN_FORCE)
    )
    row.state = SettingState.IN_FORCE if changed else row.state


def _give_back(row: Setting, replaced: Setting | None) -> None:
    """After an error: the row goes, the one before it is in force again; ``recover`` brings Redis in line."""
    manager = type(row)._default_manager
    with transaction.atomic():
        manager.filter(pk=row.pk, state__in=ACTIVE).update(slot=None, state=SettingState.LIFTING)
        if replaced is not None:
            manager.filter(pk=replaced.pk).update(
                slot=row.slot, state=SettingState.IN_FORCE, lifted_at=None, lifted_by=""
            )


def lift(mirror: Mirror[S], row: S, *, verb: str, target: str, actor: str, reason: str) -> Change:
    """Lift one live row. When it returns, the doors no longer know it."""
    with interventions.intervene(verb, target, actor=actor, reason=reason) as record:
        record.before(**described(row))
        mark_lifting([row], actor)
        woken, silent = ask_each(lambda server: take_out(mirror, server, row, actor, reason), mirror.servers(row))
        if silent:
            record.after = {"behind": entries(silent)}
        else:
            close(row, actor)
    return Change(row, record.row, None, sum(woken), behind=entries(silent))


def take_out(mirror: Mirror[S], server: Server, row: S, by: str, why: str) -> int:
    """Remove the row's record, or the one that a lost race left in its place; never that of another live row."""
    field = mirror.field(row)
    found = record_id(server.connection.hget(conf.keys.static(mirror.table), field))
    stale = found is not None and not mirror.model._default_manager.filter(pk=found, state__in=ACTIVE).exists()
    return mirror.remove(server, field, found if stale and found is not None else row.pk, by, why)


def record_id(raw: bytes | None) -> str | None:
    """The id in a record of Redis; "" when it cannot be read; None when there is no record."""
    if raw is None:
        return None
    try:
        return str(json.loads(raw).get("id", ""))
    except (ValueError, AttributeError):
        return ""


def mark_lifting(rows: Iterable[Setting], actor: str) -> None:
    """Said before Redis is touched, so that nobody puts the row back meanwhile."""
    for row in rows:
        type(row)._default_manager.filter(pk=row.pk, state__in=ACTIVE).update(
            slot=None, state=SettingState.LIFTING, lifted_at=timezone.now(), lifted_by=cleaned(actor, 150)
        )


def close(row: Setting, actor: str) -> None:
    """Redis no longer has it: the row is history, and its intervention over."""
    type(row)._default_manager.filter(pk=row.pk, state=SettingState.LIFTING).update(state=SettingState.LIFTED)
    row.state = SettingState.LIFTED
    interventions.end(row.intervention_id, actor)


def active(mirror: Mirror[S], row: S) -> S | None:
    """The live row of the same thing as ``row``."""
    return mirror.model._default_manager.filter(slot=mirror.slot(row)).first()


def described(row: Setting) -> dict[str, Any]:
    """A row as plain facts for an intervention's before and after."""
    facts: dict[str, Any] = {"id": row.pk, "by": row.actor, "reason": row.reason, "until": _iso(row.until)}
    for name in ("kind", "limit"):
        if hasattr(row, name):
            facts[name] = getattr(row, name)
    facts["name"] = row.name
    return facts


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
