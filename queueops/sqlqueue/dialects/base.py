"""What a database must be able to do for a SQL queue, and the statements that are the same for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

TABLE = "queueops_sqlmessage"
READY, LEASED, DELAYED, DEAD = range(4)
PROMOTED = 1000
"""Most messages that one promotion moves."""

COLUMNS = "id, data, attempts, token, due, pushed_at, rank"
NO_ANSWER = "its lease ended without an answer"


class Push(NamedTuple):
    """One message to be written; ``delay`` in µs, ``dedupe`` the hash of ``key``."""

    data: bytes
    rank: int
    delay: int
    dedupe: str | None
    key: str | None


class Row(NamedTuple):
    """A message as it was read: times in µs."""

    id: int
    data: bytes
    attempts: int
    token: str
    due: int
    pushed_at: int
    rank: int


class Depth(NamedTuple):
    """How many messages a queue has, by what becomes of them. ``ready`` counts what is due, too."""

    ready: int
    leased: int
    delayed: int
    dead: int

    @property
    def open(self) -> int:
        """All that are still to be acknowledged."""
        return self.ready + self.leased + self.delayed


def marks(count: int) -> str:
    """So many placeholders."""
    return ", ".join(["%s"] * count)


def rows(found: Sequence[Sequence[Any]]) -> list[Row]:
    """In the order in which they are to be worked off."""
    made = [Row(row[0], bytes(row[1]), *row[2:]) for row in found]
    return sorted(made, key=lambda row: (row.rank, row.id))


class Dialect:
    """One database. Each method is one statement, or one short transaction; all times are the database's own."""

    now: str
    """An expression for the present in µs since 1970 (UTC), which an index can be searched with."""
    written: str
    """The same for the VALUES of an INSERT."""
    bytes_of = staticmethod(bytes)
    """What the driver takes for binary data."""

    # --- push ---------------------------------------------------------------------------------------------------------

    INSERTED = "queue, state, rank, due, attempts, max_attempts, holder, pushed_at, dedupe, dedupe_key, error, data"

    def values(self, queue: str, max_attempts: int, push: Push) -> tuple[str, list[Any]]:
        """The VALUES of one message."""
        state = DELAYED if push.delay else READY
        return (
            f"(%s, {state}, %s, {self.written} + %s, 0, %s, '', {self.written}, %s, %s, '', %s)",
            [queue, push.rank, push.delay, max_attempts, push.dedupe, push.key, self.bytes_of(push.data)],
        )

    def push(self, cursor: Any, queue: str, max_attempts: int, push: Push) -> int:
        """The id of the new message, or of the open one that has this key."""
        raise NotImplementedError

    def push_many(self, cursor: Any, queue: str, max_attempts: int, pushes: Sequence[Push]) -> list[int]:
        """The ids of new messages without keys, in their order."""
        raise NotImplementedError

    # --- take ---------------------------------------------------------------------------------------------------------

    def promote(self, cursor: Any, queue: str) -> int:
        """Makes ready what is due: delayed messages, and leased ones without a living holder, or dead after their last
        attempt. At most ``PROMOTED`` of them; how many.
        """
        raise NotImplementedError

    def claim(self, cursor: Any, queue: str, count: int, lease: int, token: str, holder: str) -> list[Row]:
        """Takes up to ``count`` ready messages, the attempt counted."""
        raise NotImplementedError

    def claim_and_delete(self, cursor: Any, queue: str, count: int) -> list[Row]:
        """Takes up to ``count`` ready messages out of the queue for good."""
        raise NotImplementedError

    def peek(self, cursor: Any, queue: str, count: int) -> list[Row]:
        """The next ready messages, which stay as they are."""
        cursor.execute(
            f"SELECT {COLUMNS} FROM {TABLE} WHERE queue = %s AND state = {READY} ORDER BY rank, id LIMIT {count}",
            [queue],
        )
        return rows(cursor.fetchall())

    # --- give back: by id and token, or not at all --------------------------------------------------------------------

    def ack(self, cursor: Any, message_id: int, token: str) -> bool:
        cursor.execute(f"DELETE FROM {TABLE} WHERE id = %s AND token = %s AND state = {LEASED}", [message_id, token])
        return bool(cursor.rowcount == 1)

    def ack_many(self, cursor: Any, token: str, ids: Sequence[int]) -> set[int]:
        """The ids that were acknowledged, of messages of one lease."""
        cursor.execute(
            f"DELETE FROM {TABLE} WHERE id IN ({marks(len(ids))}) AND token = %s AND state = {LEASED} RETURNING id",
            [*ids, token],
        )
        return {row[0] for row in cursor.fetchall()}

    def nack(self, cursor: Any, message_id: int, token: str, delay: int, error: str) -> bool:
        """Ready again after ``delay`` (µs), or dead after its last attempt."""
        over, state = "attempts >= max_attempts", DELAYED if delay else READY
        cursor.execute(
            f"UPDATE {TABLE} SET state = CASE WHEN {over} THEN {DEAD} ELSE {state} END, "
            f"due = {self.now} + CASE WHEN {over} THEN 0 ELSE %s END, "
            f"dedupe = CASE WHEN {over} THEN NULL ELSE dedupe END, token = NULL, error = %s "
            f"WHERE id = %s AND token = %s AND state = {LEASED}",
            [delay, error, message_id, token],
        )
        return bool(cursor.rowcount == 1)

    def release(self, cursor: Any, message_id: int, token: str) -> bool:
        """Ready again as if it had not been taken."""
        cursor.execute(
            f"UPDATE {TABLE} SET state = {READY}, due = leased_at, attempts = attempts - 1, token = NULL "
            f"WHERE id = %s AND token = %s AND state = {LEASED}",
            [message_id, token],
        )
        return bool(cursor.rowcount == 1)

    def extend(self, cursor: Any, message_id: int, token: str, lease: int) -> int | None:
        """The new end of the lease (µs); None when it is lost."""
        raise NotImplementedError

    # --- look and mend ------------------------------------------------------------------------------------------------

    def depth(self, cursor: Any, queue: str) -> Depth:
        cursor.execute(
            f"SELECT CASE WHEN state IN ({LEASED}, {DELAYED}) AND due <= {self.now} THEN {READY} ELSE state END AS s, "
            f"COUNT(*) FROM {TABLE} WHERE queue = %s GROUP BY s",
            [queue],
        )
        found = dict(cursor.fetchall())
        return Depth(*(found.get(state, 0) for state in range(4)))

    def oldest(self, cursor: Any, queue: str) -> tuple[int | None, int]:
        """Since when the message that waits longest may be taken, and the present (µs)."""
        cursor.execute(
            f"SELECT MIN(due), {self.now} FROM ("
            f"SELECT MIN(due) AS due FROM {TABLE} WHERE queue = %s AND state = {READY} "
            f"UNION ALL SELECT MIN(due) FROM {TABLE} WHERE queue = %s AND state = {LEASED} AND due <= {self.now} "
            f"UNION ALL SELECT MIN(due) FROM {TABLE} WHERE queue = %s AND state = {DELAYED} AND due <= {self.now}"
            ") AS w",
            [queue] * 3,
        )
        since, now = cursor.fetchone()
        return since, now

    def dead(self, cursor: Any, queue: str, ids: Sequence[int] | None, most: int) -> list[tuple[int, str | None]]:
        """``(id, key)`` of dead messages: these, or the ones that died first."""
        chosen = f"AND id IN ({marks(len(ids))}) ORDER BY id" if ids is not None else f"ORDER BY due, id LIMIT {most}"
        cursor.execute(
            f"SELECT id, dedupe_key FROM {TABLE} WHERE queue = %s AND state = {DEAD} {chosen}", [queue, *(ids or ())]
        )
        return [(row[0], row[1]) for row in cursor.fetchall()]

    def revive(self, cursor: Any, queue: str, message_id: int, dedupe: str | None) -> bool:
        """A dead message is ready again, its attempts forgotten. Raises ``IntegrityError`` if its key is in use."""
        cursor.execute(
            f"UPDATE {TABLE} SET state = {READY}, due = {self.now}, attempts = 0, dedupe = %s "
            f"WHERE id = %s AND queue = %s AND state = {DEAD}",
            [dedupe, message_id, queue],
        )
        return bool(cursor.rowcount == 1)

    def purge(self, cursor: Any, queue: str, states: Sequence[int], most: int) -> int:
        """Deletes up to ``most`` messages in these states; how many."""
        cursor.execute(
            f"SELECT id FROM {TABLE} WHERE queue = %s AND state IN ({marks(len(states))}) LIMIT {most}",
            [queue, *states],
        )
        ids = sorted(row[0] for row in cursor.fetchall())
        if not ids:
            return 0
        cursor.execute(
            f"DELETE FROM {TABLE} WHERE id IN ({marks(len(ids))}) AND state IN ({marks(len(states))})", [*ids, *states]
        )
        return int(cursor.rowcount)
