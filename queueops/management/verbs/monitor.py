"""`queueops monitor`."""

from __future__ import annotations

from argparse import Namespace

from queueops.management.base import BaseVerb


class Verb(BaseVerb):
    name = "monitor"
    help = "sample, mirror and clean up once a second; of several running monitors one leads"
    checks = True

    def handle(self, options: Namespace) -> None:
        from queueops.monitor import loop

        loop.run()
