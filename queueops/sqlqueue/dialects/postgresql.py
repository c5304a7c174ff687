"""PostgreSQL: rows that others are taking are skipped, and a push wakes who listens."""

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

CHANNEL = "queueops_sql"
"""What LISTEN names; the payload is the queue."""


class PostgreSQL(Dialect):
    """9.5 or newer. The rows to take are chosen in a materialised step of their own: else the planner may choose again
    while it changes them, and take more than asked for.
    """

    # as a sub-query it is computed once, and an index can be searched with it
    written = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    now = f"(SELECT {written})"
    NEXT = (
        f"WITH next AS MATERIALIZED (SELECT id FROM {TABLE} WHERE queue = %s AND state = {READY} "
        "ORDER BY rank, id LIMIT {count} FOR UPDATE SKIP LOCKED) "
    )
    RETURNED = ", ".join(f"m.{name}" for name in COLUMNS.split(", "))

    def push(self, cursor: Any, queue: str, max_attempts: int, push: Push) -> int:
        values, given = self.values(queue, max_attempts, push)
        cursor.execute(
            f"WITH made AS (INSERT INTO {TABLE} ({self.INSERTED}) VALUES {values} "
            "ON CONFLICT (queue, dedupe) DO UPDATE SET queue = excluded.queue RETURNING id) "
            f"SELECT id, pg_notify('{CHANNEL}', %s) FROM made",
            [*given, queue],
        )
        return int(cursor.fetchone()[0])

    def push_many(self, cursor: Any, queue: str, max_attempts: int, pushes: Sequence[Push]) -> list[int]:
        made = [self.values(queue, max_attempts, push) for push in pushes]
        cursor.execute(
            f"WITH made AS (INSERT INTO {TABLE} ({self.INSERTED}) VALUES {', '.join(text for text, _ in made)} "
            f"RETURNING id), told AS MATERIALIZED (SELECT pg_notify('{CHANNEL}', %s)) "
            "SELECT id FROM made, told",
            [*(value for _, given in made for value in given), queue],
        )
        return sorted(row[0] for row in cursor.fetchall())

    def promote(self, cursor: Any, queue: str) -> int:
        over = f"m.state = {LEASED} AND m.attempts >= m.max_attempts"
        chosen = [
            f"(SELECT id FROM {TABLE} WHERE queue = %s AND state = {state} AND due <= {self.now} "
            f"ORDER BY due LIMIT {PROMOTED // 2} FOR UPDATE SKIP LOCKED)"
            for state in (LEASED, DELAYED)
        ]
        cursor.execute(
            f"WITH ended AS MATERIALIZED {chosen[0]}, begun AS MATERIALIZED {chosen[1]} "
            f"UPDATE {TABLE} AS m SET state = CASE WHEN {over} THEN {DEAD} ELSE {READY} END, "
            f"dedupe = CASE WHEN {over} THEN NULL ELSE m.dedupe END, "
            f"error = CASE WHEN m.state = {LEASED} THEN '{NO_ANSWER}' ELSE m.error END, token = NULL "
            "FROM (SELECT id FROM ended UNION ALL SELECT id FROM begun) AS due_now WHERE m.id = due_now.id",
            [queue, queue],
        )
        return int(cursor.rowcount)

    def claim(self, cursor: Any, queue: str, count: int, lease: int, token: str, holder: str) -> list[Row]:
        cursor.execute(
            self.NEXT.format(count=count)
            + f"UPDATE {TABLE} AS m SET state = {LEASED}, due = {self.now} + %s, leased_at = {self.now}, "
            f"attempts = attempts + 1, token = %s, holder = %s FROM next "
            f"WHERE m.id = next.id RETURNING {self.RETURNED}",
            [queue, lease, token, holder],
        )
        return self._no_more(cursor, count)

    def claim_and_delete(self, cursor: Any, queue: str, count: int) -> list[Row]:
        cursor.execute(
            self.NEXT.format(count=count)
            + f"DELETE FROM {TABLE} AS m USING next WHERE m.id = next.id RETURNING {self.RETURNED}",
            [queue],
        )
        return self._no_more(cursor, count)

    @staticmethod
    def _no_more(cursor: Any, count: int) -> list[Row]:
        found = rows(cursor.fetchall())
        if len(found) > count:
            raise AssertionError(f"{len(found)} messages were taken where {count} were asked for")
        return found

    def extend(self, cursor: Any, message_id: int, token: str, lease: int) -> int | None:
        cursor.execute(
            f"UPDATE {TABLE} SET due = {self.now} + %s WHERE id = %s AND token = %s AND state = {LEASED} RETURNING due",
            [lease, message_id, token],
        )
        found = cursor.fetchone()
        return found and int(found[0])


DIALECT = PostgreSQL()
