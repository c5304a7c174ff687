"""MySQL 8 and MariaDB: rows are chosen with SKIP LOCKED, then changed by primary key, in one short transaction.

An UPDATE with ORDER BY and LIMIT would sort or lock all that waits, and is unsafe for statement-based replication.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    marks,
    rows,
)  # fmt: skip


class MySQL(Dialect):
    """MySQL 8.0.1, MariaDB 10.6 or newer."""

    # of the statement's start, whatever the zone of the session
    now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
    written = now
    TAKE = (
        f"SELECT {{columns}} FROM {TABLE} WHERE queue = %s AND state = {READY} "
        "ORDER BY rank, id LIMIT {count} FOR UPDATE SKIP LOCKED"
    )
    # read together with the row: where the lease will end
    LEASE_COLUMNS = COLUMNS.replace(", due,", f", {now} + %s,")

    @contextmanager
    def transaction(self, cursor: Any) -> Iterator[None]:
        """Without Django's ``atomic``, which switches autocommit off and on: two round trips more."""
        if cursor.db.in_atomic_block:
            yield
            return
        if (cursor.db.isolation_level or "").lower() != "read committed":
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        cursor.execute("START TRANSACTION")
        try:
            yield
        except BaseException:
            try:
                cursor.execute("ROLLBACK")
            except Exception:
                # the server undoes it when the connection ends
                cursor.db.close()
            raise
        cursor.execute("COMMIT")

    def push(self, cursor: Any, queue: str, max_attempts: int, push: Push) -> int:
        values, given = self.values(queue, max_attempts, push)
        cursor.execute(
            f"INSERT INTO {TABLE} ({self.INSERTED}) VALUES {values} ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)",
            given,
        )
        return int(cursor.lastrowid)

    def push_many(self, cursor: Any, queue: str, max_attempts: int, pushes: Sequence[Push]) -> list[int]:
        made = [self.values(queue, max_attempts, push) for push in pushes]
        cursor.execute(
            f"INSERT INTO {TABLE} ({self.INSERTED}) VALUES {', '.join(text for text, _ in made)}",
            [value for _, given in made for value in given],
        )
        # one statement of a known number of rows is given consecutive ids in every lock mode
        first = int(cursor.lastrowid)
        cursor.execute("SELECT @@auto_increment_increment")
        step = int(cursor.fetchone()[0])
        return [first + step * place for place in range(len(pushes))]

    def promote(self, cursor: Any, queue: str) -> int:
        ids: list[int] = []
        for state in (LEASED, DELAYED):
            cursor.execute(
                f"SELECT id FROM {TABLE} WHERE queue = %s AND state = {state} AND due <= {self.now} "
                f"ORDER BY due LIMIT {PROMOTED // 2}",
                [queue],
            )
            ids += (row[0] for row in cursor.fetchall())
        if not ids:
            return 0
        over = f"state = {LEASED} AND attempts >= max_attempts"
        # assigned from left to right: state comes last, as the others ask for it
        cursor.execute(
            f"UPDATE {TABLE} SET dedupe = CASE WHEN {over} THEN NULL ELSE dedupe END, "
            f"error = CASE WHEN state = {LEASED} THEN '{NO_ANSWER}' ELSE error END, token = NULL, "
            f"state = CASE WHEN {over} THEN {DEAD} ELSE {READY} END "
            f"WHERE id IN ({marks(len(ids))}) AND state IN ({LEASED}, {DELAYED}) AND due <= {self.now}",
            sorted(ids),
        )
        return int(cursor.rowcount)

    def claim(self, cursor: Any, queue: str, count: int, lease: int, token: str, holder: str) -> list[Row]:
        with self.transaction(cursor):
            cursor.execute(self.TAKE.format(columns=self.LEASE_COLUMNS, count=count), [lease, queue])
            found = rows(cursor.fetchall())
            if found:
                end = found[0].due
                cursor.execute(
                    f"UPDATE {TABLE} SET state = {LEASED}, due = %s, leased_at = %s, attempts = attempts + 1, "
                    f"token = %s, holder = %s WHERE id IN ({marks(len(found))})",
                    [end, end - lease, token, holder, *sorted(row.id for row in found)],
                )
        return [row._replace(attempts=row.attempts + 1, token=token) for row in found]

    def claim_and_delete(self, cursor: Any, queue: str, count: int) -> list[Row]:
        with self.transaction(cursor):
            cursor.execute(self.TAKE.format(columns=COLUMNS, count=count), [queue])
            found = rows(cursor.fetchall())
            if found:
                cursor.execute(
                    f"DELETE FROM {TABLE} WHERE id IN ({marks(len(found))})", sorted(row.id for row in found)
                )
        return found

    def ack_many(self, cursor: Any, token: str, ids: Sequence[int]) -> set[int]:
        with self.transaction(cursor):
            cursor.execute(
                f"SELECT id FROM {TABLE} "
                f"WHERE id IN ({marks(len(ids))}) AND token = %s AND state = {LEASED} FOR UPDATE",
                [*sorted(ids), token],
            )
            held = {row[0] for row in cursor.fetchall()}
            if held:
                cursor.execute(f"DELETE FROM {TABLE} WHERE id IN ({marks(len(held))})", sorted(held))
        return held

    def extend(self, cursor: Any, message_id: int, token: str, lease: int) -> int | None:
        cursor.execute(
            f"UPDATE {TABLE} SET due = {self.now} + %s WHERE id = %s AND token = %s AND state = {LEASED}",
            [lease, message_id, token],
        )
        if cursor.rowcount != 1:
            return None
        cursor.execute(f"SELECT due FROM {TABLE} WHERE id = %s AND token = %s", [message_id, token])
        found = cursor.fetchone()
        return found and int(found[0])


DIALECT = MySQL()
