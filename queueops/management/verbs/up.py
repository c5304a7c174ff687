"""`queueops up`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from queueops.management.base import BaseVerb, VerbError
from queueops.supervise.up import Options, UpProblem, up


def port(text: str) -> int:
    """Argument type: a TCP port; 0 takes a free one."""
    if not text.isdecimal() or int(text) > 65535:
        raise ArgumentTypeError(f"{text!r} is no port: 0 to 65535")
    return int(text)


def workers(text: str) -> int:
    """Argument type: how many workers."""
    if not text.isdecimal() or int(text) > 64:
        raise ArgumentTypeError(f"{text!r} is no number of workers: 0 to 64")
    return int(text)


class Verb(BaseVerb):
    name = "up"
    help = "start Redis, the web server, workers and the monitor, and keep them running"
    checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address of the web server (%(default)s)")
        parser.add_argument("--port", type=port, default=8000, help="its port (%(default)s)")
        parser.add_argument("--workers", type=workers, default=2, help="number of workers (%(default)s)")
        parser.add_argument("--demo", action="store_true", help="also run the bookshop, which makes jobs")

    def handle(self, options: Namespace) -> None:
        try:
            status = up(Options(options.host, options.port, options.workers, options.demo))
        except UpProblem as error:
            raise VerbError(str(error)) from error
        if status:
            sys.exit(status)
