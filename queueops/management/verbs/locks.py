"""``queueops locks``: locks, semaphores and rates in use."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import Any

from queueops.diagnosis.wording import span
from queueops.management.base import BaseVerb, one_line, positive
from queueops.rdb.client import servers
from queueops.telemetry.controls import detail, page


class Verb(BaseVerb):
    name = "locks"
    help = "show the locks, semaphores and rates in use: who holds them, who waits"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--search", default="", metavar="TEXT", help="only those whose name or key contains it")
        parser.add_argument("--most", type=positive, default=100, metavar="N", help="at most N (default 100)")

    def handle(self, options: Namespace) -> dict[str, Any]:
        rows: list[dict[str, Any]] = []
        known, cut = 0, False
        for server in servers():
            found = page(server, size=options.most, search=options.search)
            known, cut = known + found.known, cut or found.next is not None or not found.scanned_all
            for info in found.rows[: options.most - len(rows)]:
                held = detail(server, info.id, size=10)
                row = asdict(info)
                row["server"], row["line"] = server.alias, [waiter.job for waiter in held.waiters]
                row["held_by"] = [asdict(holder) for holder in held.holders] if info.kind != "rate" else []
                rows.append(row)
        return {"locks": rows, "in_use": known, "more": cut}

    def render(self, result: dict[str, Any]) -> str:
        lines = []
        for row in result["locks"]:
            key = f" key {one_line(row['key_text'] or row['key'])}" if row["key"] else ""
            limit = "?" if row["limit"] is None else row["limit"]
            lines.append(
                f"{row['kind']} {one_line(row['name'])}{key}: {row['used']:g} of {limit}, {row['waiters']} waiting"
            )
            for held in row["held_by"]:
                whose = f"job {one_line(held['job'])} on {one_line(held['worker'])}" if held["job"] else "no known job"
                left = f", ends in {span(held['left'] * 1e6)}" if held["left"] is not None else ""
                lines.append(f"  {held['token'][:8]} {whose}{left}" + (" (owner gone)" if held["orphan"] else ""))
        if not lines:
            lines.append("nothing is held or waited for")
        if result["more"]:
            lines.append(f"there are more: {result['in_use']} in use; narrow with --search or raise --most")
        return "\n".join(lines)
