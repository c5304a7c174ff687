"""Workers of all servers: busy, idle, silent."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.selectors import store
from queueops.rdb.client import servers
from queueops.telemetry import workers
from queueops.telemetry.workers import WorkerInfo

PAGE = 100


@dataclass(frozen=True, slots=True)
class ServerWorkers:
    """One server's page. ``next`` is the name to continue after."""

    server: str
    rows: tuple[WorkerInfo, ...]
    busy: int
    idle: int
    silent: int
    known: int
    next: str | None


@dataclass(frozen=True, slots=True)
class Workers:
    servers: tuple[ServerWorkers, ...]
    down: tuple[store.Down, ...]

    def total(self, name: str) -> int:
        return sum(getattr(s, name) for s in self.servers)


ORDER = {"silent": 0, "busy": 1, "idle": 2}


def workers_page(*, state: str = "", queue: str | None = None, name: str = "", after: str = "") -> Workers:
    """Silent ones first within the page; one round trip a server."""
    found: list[ServerWorkers] = []
    down: list[store.Down] = []
    for server in servers():
        try:
            with store.guard(server):
                page = workers.page(
                    server, after=after, state=state if state in ORDER else None, queue=queue, size=PAGE
                )
        except store.StoreDown as error:
            down.append(error.down)
            continue
        rows = [row for row in page.rows if not name or row.name == name]
        rows.sort(key=lambda row: (ORDER.get(row.state, 3), row.name))
        c = page.counts
        found.append(ServerWorkers(server.alias, tuple(rows), c.busy, c.idle, c.silent, c.known, page.next))
    return Workers(tuple(found), tuple(down))
