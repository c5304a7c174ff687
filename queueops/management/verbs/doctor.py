"""``queueops doctor``."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from queueops.management.base import BaseVerb, one_line
from queueops.operations.examination import examine

MARKS = {"ok": "ok     ", "bad": "BAD    ", "warn": "warn   ", "unknown": "unknown"}


class Verb(BaseVerb):
    name = "doctor"
    help = "check that Redis, the database, the settings, the workers and the monitor are fit; ends with 1 if not"

    def handle(self, options: Namespace) -> dict[str, Any]:
        found = [asdict(finding) for finding in examine()]
        self.ok = not any(finding["state"] == "bad" for finding in found)
        return {"ok": self.ok, "checks": found}

    def run(self, options: Namespace) -> None:
        self.ok = True
        super().run(options)
        if not self.ok:
            sys.exit(1)

    def render(self, result: dict[str, Any]) -> str:
        return "\n".join(f"{MARKS[f['state']]} {f['check']}: {one_line(f['text'])}" for f in result["checks"])
