"""SQLite: a claim is one statement, as there is one writer at a time. Of one host only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queueops.sqlqueue.dialects.base import (
    COLUMNS,
    DEAD,
    DELAYED,
    LEASED,
    NO_ANSWER,
    PROMOTED,
    READY,
    TABLE,
    Dialect,
    Push,
    Row,
    rows,
)  # fmt: skip


class SQLite(Dialect):
    """3.35 or newer, for RETURNING."""

    # whole milliseconds: what SQLite's clock has
    now = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000"
    written = now
    NEXT = f"SELECT id FROM {TABLE} WHERE queue = %s AND state = {READY} ORDER BY rank, id LIMIT"

    def push(self, cursor: Any, queue: str, max_attempts: int, push: Push) -> int:
        values, given = self.values(queue, max_attempts, push)
        cursor.execute(
            f"INSERT INTO {TABLE} ({self.INSERTED}) VALUES {values} "
            "ON CONFLICT (queue, dedupe) DO UPDATE SET queue = excluded.queue RETURNING id",
            given,
        )
        return int(cursor.fetchone()[0])

    def push_many(self, cursor: Any, queue: str, max_attempts: int, pushes: Sequence[Push]) -> list[int]:
        made = [self.values(queue, max_attempts, push) for push in pushes]
        cursor.execute(
            f"INSERT INTO {TABLE} ({self.INSERTED}) VALUES {', '.join(text for text, _ in made)} RETURNING id",
            [value for _, given in made for value in given],
        )
        return sorted(row[0] for row in cursor.fetchall())

    def promote(self, cursor: Any, queue: str) -> int:
        over = f"state = {LEASED} AND attempts >= max_attempts"
        found = " UNION ALL ".join(
            f"SELECT * FROM (SELECT id FROM {TABLE} WHERE queue = %s AND state = {state} AND due <= {self.now} "
            f"ORDER BY due LIMIT {PROMOTED // 2})"
            for state in (LEASED, DELAYED)
        )
        cursor.execute(
            f"UPDATE {TABLE} SET state = CASE WHEN {over} THEN {DEAD} ELSE {READY} END, "
            f"dedupe = CASE WHEN {over} THEN NULL ELSE dedupe END, "
            f"error = CASE WHEN state = {LEASED} THEN '{NO_ANSWER}' ELSE error END, token = NULL WHERE id IN ({found})",
            [queue, queue],
        )
        return int(cursor.rowcount)

    def claim(self, cursor: Any, queue: str, count: int, lease: int, token: str, holder: str) -> list[Row]:
        cursor.execute(
            f"UPDATE {TABLE} SET state = {LEASED}, due = {self.now} + %s, leased_at = {self.now}, "
            f"attempts = attempts + 1, token = %s, holder = %s WHERE id IN ({self.NEXT} {count}) RETURNING {COLUMNS}",
            [lease, token, holder, queue],
        )
        return rows(cursor.fetchall())

    def claim_and_delete(self, cursor: Any, queue: str, count: int) -> list[Row]:
        cursor.execute(f"DELETE FROM {TABLE} WHERE id IN ({self.NEXT} {count}) RETURNING {COLUMNS}", [queue])
        return rows(cursor.fetchall())

    def extend(self, cursor: Any, message_id: int, token: str, lease: int) -> int | None:
        cursor.execute(
            f"UPDATE {TABLE} SET due = {self.now} + %s WHERE id = %s AND token = %s AND state = {LEASED} RETURNING due",
            [lease, message_id, token],
        )
        found = cursor.fetchone()
        return found and int(found[0])


DIALECT = SQLite()
