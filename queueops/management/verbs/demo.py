"""``manage.py queueops demo``: the bookshop's producer and its courier, until SIGTERM."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser, Namespace
from concurrent.futures import ThreadPoolExecutor

from queueops.management.base import BaseVerb


class Verb(BaseVerb):
    name = "demo"
    help = "run the bookshop: a steady, bounded workload with rushes and troublemakers, until it is stopped"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--seed", type=int, default=1, help="which of the possible shops (default 1)")

    def handle(self, options: Namespace) -> None:
        from queueops.demo.courier import Courier
        from queueops.demo.producer import Producer

        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        courier = Courier(options.seed)
        courier.open()
        self.say(f"the shop is open; its courier answers at {courier.address}")
        # in a thread: a handler that sets an Event on which its own thread waits can deadlock
        with ThreadPoolExecutor(1, "shop") as pool:
            pool.submit(Producer(options.seed).run, stop).result()
        courier.close()
