"""Live viewers on one web process: uvicorn on a unix socket, the real monitor, web sockets of one client process."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench import world
from bench.lab import Lab
from bench.lines import Line, below, percentile
from queueops.conf import conf
from queueops.supervise.family import tie_to_parent

ORIGIN = "http://localhost"
COOKIE = "queueops_session"
AT_ONCE = 20
"""Sockets that connect at the same time."""
EVERY = 3.0
"""Seconds between two refreshes of a page, as the Overview asks for."""
DELAY, FAN_OUT, CPU = 1000.0, 10.0, 5.0


@dataclass(slots=True)
class Seen:
    """Of all viewers: ``(snapshot, arrival (s), ms in the web process)`` of each message, ms of each refresh."""

    messages: list[tuple[int, float, float]] = field(default_factory=list)
    refreshes: list[float] = field(default_factory=list)
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """``published``: when, by snapshot. In ``seconds``: snapshots ``made``, ``cpu`` of the web process (s), and
    ``reads``, the round trips of all clients to Redis.
    """

    seen: Seen
    published: dict[int, float]
    subscribed: int
    seconds: float
    made: int
    cpu: float
    reads: float


def cookies(count: int) -> list[str]:
    """Sessions of somebody who may only look, logged in so many times."""
    from django.contrib.auth.models import Group, User
    from django.test import Client

    user = User.objects.create_user("viewer")
    user.groups.add(Group.objects.get(name="viewer"))
    found = []
    for _ in range(count):
        client = Client()
        client.force_login(user)
        found.append(client.cookies[COOKIE].value)
    return found


def monitor() -> None:
    """The monitor, until it is killed."""
    from queueops.monitor.loop import run

    run()


@contextmanager
def web(path: Path) -> Iterator[psutil.Process]:
    """The web process on a unix socket, as ``up`` starts it."""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        bound.listen(1024)
        reading, writing = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-m", "queueops.supervise.web", "queueops.project.asgi:application",
             "--fd", str(bound.fileno()), "--ready", str(writing)],
            pass_fds=(bound.fileno(), writing),
            preexec_fn=tie_to_parent(),
        )  # fmt: skip
        os.close(writing)
    try:
        if os.read(reading, 1) != b".":
            raise RuntimeError("the web process did not start")
        yield psutil.Process(process.pid)
    finally:
        os.close(reading)
        process.kill()
        process.wait()


class Viewers:
    """All of them in one event loop. ``pages``: each also fetches the Overview's live part as its page does."""

    def __init__(self, path: str, jars: list[str], pages: bool) -> None:
        self._path, self._jars, self._pages = path, jars, pages
        self._gate, self._begun = asyncio.Semaphore(AT_ONCE), asyncio.Event()
        self.seen = Seen()

    async def run(self, ready: Any, seconds: float) -> Seen:
        """Tell ``ready`` once all have had a message, and watch for so long from then."""
        arrived = [asyncio.Event() for _ in self._jars]
        tasks = [asyncio.create_task(self._watch(jar, one)) for jar, one in zip(self._jars, arrived, strict=True)]
        async with asyncio.timeout(120):
            await asyncio.gather(*(one.wait() for one in arrived))
        ready.set()
        self._begun.set()
        await asyncio.sleep(seconds)
        self.seen.lost = sum(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return self.seen

    async def _watch(self, jar: str, arrived: asyncio.Event) -> None:
        from websockets.asyncio.client import unix_connect

        async with self._gate:
            live = await unix_connect(
                self._path,
                "ws://localhost/ws/live/",
                origin=ORIGIN,  # type: ignore[arg-type]
                additional_headers={"Cookie": f"{COOKIE}={jar}"},
                compression=None,
            )
        refreshed, refreshing = 0.0, None
        async with live:
            async for text in live:
                now, message = time.time(), json.loads(text)
                if message["t"] == "ping":
                    await live.send('{"t":"pong"}')
                    continue
                arrived.set()
                if self._begun.is_set():
                    self.seen.messages.append((message["seq"], now, message["age"]))
                if self._pages and now - refreshed >= EVERY - 0.1 and (refreshing is None or refreshing.done()):
                    refreshed, refreshing = now, asyncio.create_task(self._refresh(jar))

    async def _refresh(self, jar: str) -> None:
        start = time.perf_counter()
        reader, writer = await asyncio.open_unix_connection(self._path)
        headers = {"Host": "localhost", "Cookie": f"{COOKIE}={jar}", "HX-Request": "true", "HX-Target": "live"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"GET / HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
        answer = await reader.read(-1)
        writer.close()
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(answer[:100].decode("latin-1"))
        if self._begun.is_set():
            self.seen.refreshes.append((time.perf_counter() - start) * 1000)


def view(path: str, jars: list[str], pages: bool, ready: Any, seconds: float) -> Seen:
    """The client process."""

    async def run() -> Seen:
        return await Viewers(path, jars, pages).run(ready, seconds)

    return asyncio.run(run())


def listen(lab: Lab, published: dict[int, float], stop: threading.Event) -> None:
    """When each snapshot was published, as a subscriber that does nothing else hears it."""
    with lab.connect() as connection:
        subscription = connection.pubsub(ignore_subscribe_messages=True)
        subscription.subscribe(conf.keys.static("snapshot_channel"))
        while not stop.is_set():
            message = subscription.get_message(timeout=0.5)
            if message is not None:
                published[json.loads(message["data"])["seq"]] = time.time()


def measure(lab: Lab, path: Path, process: psutil.Process, jars: list[str], pages: bool, seconds: float) -> Measured:
    """So many viewers as there are ``jars``."""
    from bench.lab import FORK

    ready, published, stop = FORK.Event(), {}, threading.Event()
    found: dict[str, Any] = {}
    client = threading.Thread(
        target=lambda: found.update(seen=lab.apart(view, str(path), jars, pages, ready, seconds)), daemon=True
    )
    client.start()
    if not ready.wait(150):
        raise RuntimeError("not all viewers were served")
    with lab.connect() as connection:
        channel = conf.keys.static("snapshot_channel")
        subscribed = int(connection.pubsub_numsub(channel)[0][1])
        listener = threading.Thread(target=listen, args=(lab, published, stop), daemon=True)
        listener.start()
        before, start = process.cpu_times(), time.time()
        reads = connection.info("stats")["total_reads_processed"]
        stop.wait(seconds * 0.9)
        after, reads = process.cpu_times(), connection.info("stats")["total_reads_processed"] - reads - 1
        end = time.time()
    client.join()
    stop.set()
    listener.join()
    cpu = after.user + after.system - before.user - before.system
    made = sum(start <= at < end for at in published.values())
    return Measured(found["seen"], published, subscribed, end - start, made, cpu, reads)


def lines(lab: Lab) -> Iterator[Line]:
    """No viewer, one, many; many that also refresh their page."""
    # without refreshes for less time than there is between two checks of a session
    many, alone, together, refreshing = (40, 4.0, 6.0, 6.0) if lab.quick else (200, 20.0, 24.0, 65.0)
    world.build(lab, world.QUICK)
    jars: list[str] = lab.apart(cookies, many)
    with (
        tempfile.TemporaryDirectory(prefix="qo-web-") as home,
        lab.background(monitor),
        web(path := Path(home) / "web.sock") as process,
    ):
        one = measure(lab, path, process, jars[:1], False, alone)
        all_ = measure(lab, path, process, jars, False, together)
        full = measure(lab, path, process, jars, True, refreshing)
    yield from _lines(f"{many} viewers", one, all_)
    yield from _refreshed(f"{many} viewers, pages refreshed", full)


def _lines(name: str, one: Measured, all_: Measured) -> Iterator[Line]:
    if all_.seen.lost or one.seen.lost:
        raise RuntimeError(f"{all_.seen.lost + one.seen.lost} viewers were cut off")
    yield below(f"{name}: Redis subscriptions", f"{all_.subscribed}", all_.subscribed, 2, "1")
    rate, alone = all_.made / all_.seconds, one.made / one.seconds
    yield Line(f"{name}: snapshots made", f"{rate:.2f}/s (one viewer {alone:.2f}/s)", rate / alone, "1/s", rate < 1.2)
    reads, few = all_.reads / all_.seconds, one.reads / one.seconds
    figure = f"{reads:.1f}/s with the monitor's (one viewer {few:.1f}/s)"
    yield Line(f"{name}: round trips to Redis", figure, reads / few, "<= 1.1x", reads / few <= 1.1)
    yield _delay(name, all_)
    ages = [age for _, _, age in all_.seen.messages]
    figure = f"p50 {percentile(ages, 0.5):.0f} p95 {percentile(ages, 0.95):.0f} max {max(ages):.0f} ms"
    yield below(f"{name}: fan-out in the web process", figure, percentile(ages, 0.95), FAN_OUT + 0.5, "p95 <= 10 ms")
    each = all_.cpu * 1000 / max(1, all_.made)
    figure = f"{each:.1f} ms a snapshot, {100 * all_.cpu / all_.seconds:.1f} % of a CPU"
    yield below(f"{name}: CPU of the web process", figure, each, CPU, "<= 5 ms")


def _refreshed(name: str, full: Measured) -> Iterator[Line]:
    yield _delay(name, full)
    times = full.seen.refreshes
    rate = len(times) / full.seconds
    figure = f"{rate:.0f}/s, p50 {percentile(times, 0.5):.0f} p95 {percentile(times, 0.95):.0f} ms"
    yield Line(f"{name}: refreshes", figure)
    yield Line(f"{name}: CPU of the web process", f"{100 * full.cpu / full.seconds:.0f} % of a CPU")
    yield Line(f"{name}: round trips to Redis", f"{full.reads / full.seconds:.1f}/s with the monitor's")


def _delay(name: str, measured: Measured) -> Line:
    delays = [
        (at - measured.published[seq]) * 1000 for seq, at, _ in measured.seen.messages if seq in measured.published
    ]
    p50, p95 = percentile(delays, 0.5), percentile(delays, 0.95)
    figure = f"p50 {p50:.0f} p95 {p95:.0f} max {max(delays):.0f} ms from Redis to the viewer"
    return below(f"{name}: delay of an update", figure, p95, DELAY, "p95 < 1 s")
