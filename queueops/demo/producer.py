"""The shop's own process: follows the plan, enqueues, and never lets a backlog grow without end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import django_rq
import redis
import rq
from rq import Retry
from rq.job import Job

from queueops.conf import conf
from queueops.demo import jobs, plan, store

logger = logging.getLogger(__name__)

MAX_OPEN = 400
"""Jobs of one queue that may wait before nothing more is added to it."""
MAX_FAILED = 60
"""Failed and quarantined jobs of one queue after which no new trouble is made: a night alone must not fill Redis."""
QUEUES = ("high", "default", "low", "courier", "reports", "mail", "imports")
FORGETFUL = "cedar"
"""The supplier whose import lock is left behind."""
BRIEF = Retry(max=2, interval=[1, 3])
PATIENT = Retry(max=3, interval=[5, 15, 45])
MAX_LATE = 10.0
"""Seconds behind the plan after which it is not caught up with."""
RETRY_CONNECTION = 2.0
"""Seconds until the next try when Redis is away."""


class Producer:
    """Turns the plan's events into jobs. ``open`` and ``failed`` are counts per queue, as of the last look."""

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed
        self.open: dict[str, int] = {}
        self.failed: dict[str, int] = {}
        self.customers = 0

    def run(self, stop: threading.Event) -> None:
        """Follow the plan in real time until ``stop`` is set. What a sleeping laptop missed is left out, but not
        the rare troubles: they are what there is to see."""
        begun = time.monotonic()
        tick, owed = 0, list[plan.Event]()
        while not stop.is_set():
            try:
                self.look()
                while owed:
                    self.do(owed[0])
                    del owed[0]
                for event in plan.events(self.seed, tick):
                    self.do(event)
            except redis.RedisError as error:
                logger.warning("the shop cannot reach Redis: %s", error)
                stop.wait(RETRY_CONNECTION)
            tick += 1
            late = time.monotonic() - begun - tick * plan.TICK
            if late > MAX_LATE:
                reached = tick + int(late / plan.TICK)
                owed += plan.missed(self.seed, tick, reached)
                tick = reached
            stop.wait(max(0.0, -late))

    def look(self) -> None:
        """Count what waits and what failed, in one round trip."""
        keys = conf.keys
        with django_rq.get_connection("default").pipeline(transaction=False) as pipe:
            for queue in QUEUES:
                pipe.llen(keys.of("rq_queue", queue))
                pipe.zcard(keys.of("rq_scheduled", queue))  # parked jobs are in it too
                pipe.zcard(keys.of("rq_deferred", queue))
                pipe.zcard(keys.of("rq_failed", queue))
            counts = iter(pipe.execute())
        for queue in QUEUES:
            self.open[queue] = next(counts) + next(counts) + next(counts)
            self.failed[queue] = next(counts)

    def do(self, event: plan.Event) -> None:
        """Make the jobs of one event: each kind is a method below."""
        make: Callable[[Any], object] = getattr(self, event.what)
        make(event.subject)

    def enqueue(self, queue: str, function: Callable[..., Any], *args: Any, **options: Any) -> Job | None:
        """Enqueue unless the queue is long already."""
        if self.full(queue):
            return None
        self.open[queue] = self.open.get(queue, 0) + 1
        return django_rq.get_queue(queue).enqueue(function, *args, **options)

    def full(self, *queues: str) -> bool:
        """Whether one of the queues has as much waiting as it may."""
        return any(self.open.get(queue, 0) >= MAX_OPEN for queue in queues)

    def troubled(self, queue: str) -> bool:
        """Whether enough of the queue's jobs have failed already."""
        return self.failed.get(queue, 0) >= MAX_FAILED

    def customer(self) -> int:
        """The next one to order: all in turn, so that nobody is sent more mail than a reader's limit lets through."""
        self.customers += 1
        return 1 + self.customers * 7919 % store.USERS

    # --- the kinds of events ---

    def order(self, book_id: int) -> None:
        """A chain of three jobs on three queues: confirm, ship, tell the customer."""
        if self.full("high", "courier", "mail"):
            return
        user_id = self.customer()
        order_id = store.place_order(user_id, book_id)
        confirmed = self.enqueue("high", jobs.confirm_order, order_id)
        shipped = self.enqueue("courier", jobs.ship_order, order_id, depends_on=confirmed, retry=PATIENT)
        self.enqueue("mail", jobs.send_mail, user_id, "On its way", depends_on=shipped)

    def pallet(self, book_id: int) -> None:
        if not self.full("courier"):
            order_id = store.place_order(self.customer(), book_id, copies=200)
            self.enqueue("courier", jobs.ship_pallet, order_id, retry=PATIENT)

    def bad_address(self, book_id: int) -> None:
        """The courier rejects it three times: quarantined."""
        if not self.full("courier") and not self.troubled("courier"):
            order_id = store.place_order(2, book_id, street="")
            self.enqueue("courier", jobs.ship_order, order_id, retry=BRIEF)

    def newsletter(self, user_id: int) -> None:
        self.enqueue("mail", jobs.send_mail, user_id, "Books of the week")

    def stock(self, book_id: int) -> None:
        """An older part of the shop: it uses RQ's own Queue and knows nothing of queueops."""
        if not self.full("default"):
            rq.Queue("default", connection=django_rq.get_connection("default")).enqueue(jobs.check_stock, book_id)

    def invoice(self, book_id: int) -> None:
        if not self.full("default"):
            self.enqueue("default", jobs.print_invoice, store.place_order(3, book_id), retry=BRIEF)

    def bad_batch(self, book_id: int) -> None:
        """Invoices while the printer has no paper, and the poison one among them: all end in quarantine."""
        if self.full("default") or self.troubled("default"):
            return
        self.enqueue("default", jobs.print_invoice, store.place_order(4, book_id, logo="corrupt"))
        for _ in range(7):
            self.invoice(book_id)

    def recommend(self, book_id: int) -> None:
        self.enqueue("low", jobs.recommend, book_id)

    def report(self, book_id: int) -> None:
        self.enqueue("reports", jobs.crunch_sales, book_id)

    def catalogue(self, _: int) -> None:
        self.enqueue("reports", jobs.crunch_catalogue)

    def prices(self, supplier: str) -> None:
        if not self.troubled("imports"):
            self.enqueue("imports", jobs.import_prices, supplier)

    def forgotten_lock(self, _: int) -> None:
        """At the front: it is to hold the lock before imports stand in line for it."""
        self.enqueue("default", jobs.sync_stock, FORGETFUL, result_ttl=1_800, at_front=True)
