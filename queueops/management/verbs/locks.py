"""``queueops locks``: locks, semaphores and rates in use."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import Any

from queueops.diagnosis.wording import span
from queueops.management.base import BaseVerb, one_line, positive
from queueops.rdb.client import Server, servers
from queueops.telemetry.controls import detail, page
from queueops.telemetry.instances import InstanceInfo

OUTSIDE = "taken outside of a job, or by one that is gone"
SORTED = 500
"""Locks looked at before the first are chosen."""


class Verb(BaseVerb):
    name = "locks"
    help = "show the locks, semaphores and rates in use: who holds them, who waits"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--search", default="", metavar="TEXT", help="only those whose name or key contains it")
        parser.add_argument("--most", type=positive, default=100, metavar="N", help="at most N (default 100)")

    def handle(self, options: Namespace) -> dict[str, Any]:
        rows: list[dict[str, Any]] = []
        infos: list[tuple[Server, InstanceInfo]] = []
        known, cut = 0, False
        for server in servers():
            found = page(server, size=max(options.most, SORTED), search=options.search)
            known, cut = known + found.known, cut or found.next is not None or not found.scanned_all
            infos += [(server, info) for info in found.rows]
        # what holds others up comes first; among equals the newest change
        infos.sort(key=lambda pair: (not pair[1].waiters, not pair[1].full))
        for server, info in infos[: options.most]:
            held = detail(server, info.id, size=10)
            row = asdict(info)
            row["capacity"] = info.capacity
            row["server"], row["line"] = server.alias, [waiter.job for waiter in held.waiters]
            row["held_by"] = [asdict(holder) for holder in held.holders] if info.kind != "rate" else []
            rows.append(row)
        left = len(infos) - len(rows)
        if cut and not options.search:
            left = max(left, known - len(rows))
        return {"locks": rows, "in_use": known, "more": cut or left > 0, "left": left, "search": options.search}

    def render(self, result: dict[str, Any]) -> str:
        lines = []
        for row in result["locks"]:
            key = f" key {one_line(row['key_text'] or row['key'])}" if row["key"] else ""
            most = "?" if row["capacity"] is None else row["capacity"]
            offers = f", {row['offers']} offered" if row["offers"] else ""
            word = "used" if row["kind"] == "rate" else "held"
            count = f"{round(row['used'], 1):g} of {most} {word}{offers}, {row['waiters']} waiting"
            lines.append(f"{row['kind']} {one_line(row['name'])}{key}: {count}")
            for held in row["held_by"]:
                whose = f"job {one_line(held['job'])} on {one_line(held['worker'])}" if held["job"] else OUTSIDE
                whose = f"taken by job {one_line(held['token'])} by hand" if held["by_hand"] else whose
                left = f", ends in {span(held['left'] * 1e6)}" if held["left"] is not None else ""
                lines.append(f"  {held['token'][:8]} {whose}{left}" + (" (owner gone)" if held["abandoned"] else ""))
        if not lines:
            searched = f"no name or key contains {one_line(result['search'])!r}; {result['in_use']} in use"
            lines.append(searched if result["in_use"] else "nothing is held or waited for")
        if result["more"]:
            lines.append(f"and {result['left'] or 'possibly'} more; narrow with --search or raise --most")
        return "\n".join(lines)
