"""``python -m bench [--quick] [--json FILE] [--only PART …]``: one line per figure, with its budget and its verdict."""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.lab import Lab, cpus, opened
from bench.lines import HEADING, Line, save

PARTS = (
    "trips",
    "throughput",
    "latency",
    "parked",
    "primitives",
    "unique",
    "correctness",
    "scale",
    "counters",
    "pages",
    "viewers",
)
"""Modules with ``lines(lab)``, in the order in which they run."""


def measure(lab: Lab, parts: list[str]) -> Iterator[Line]:
    """The lines of the parts, as they are measured."""
    for part in parts:
        yield from importlib.import_module(f"bench.{part}").lines(lab)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the budgets beside plain RQ.")
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, not a measurement")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all lines there, too")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    options = parser.parse_args()
    start = time.monotonic()
    lines: list[Line] = []
    with opened(options.quick) as lab:
        with lab.connect() as connection:
            info = connection.info("server")
        about: dict[str, object] = {
            "server": f"{info.get('server_name', 'redis')} {info.get('valkey_version', info['redis_version'])}",
            "python": platform.python_version(),
            "system": platform.platform(),
            "cpus": len(cpus()),
            "quick": options.quick,
        }
        print(", ".join(f"{key}: {value}" for key, value in about.items()), flush=True)
        print(HEADING, flush=True)
        for line in measure(lab, options.only):
            lines.append(line)
            print(line.text(), flush=True)
    short = sum(line.met is False for line in lines)
    print(f"{sum(line.met is True for line in lines)} met, {short} short, in {time.monotonic() - start:.0f} s")
    if options.json:
        save(lines, about, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
