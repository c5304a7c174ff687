"""Fills a batch whose jobs are named by a filter: page by page, each page and its place saved together."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Min

from queueops.models import Batch, BatchItem
from queueops.operations.names import queues
from queueops.operations.text import cleaned
from queueops.rdb.client import Server, server_of, servers
from queueops.telemetry.job_pages import Cursor, JobFilter, read

MOST = 5_000_000
"""Jobs of one batch."""
BACK = ("failed", "quarantined")
"""Listed newest first, worked on oldest first."""


def plan(wanted: JobFilter) -> dict[str, Any]:
    """What is kept with the batch while its jobs are collected."""
    places = [server_of(wanted.queue)] if wanted.queue is not None else servers()
    return {"servers": [server.alias for server in places], "cursor": "", "of": None, "here": 0, "looked": 0}


def pending(batch: Batch) -> bool:
    """Whether jobs are still to be collected."""
    return bool(batch.selection.get("collect", {}).get("servers"))


def page(batch: Batch, owner: str, until: datetime) -> bool:
    """One page more, and the lease renewed to ``until``. False when the batch is not ours to go on with."""
    wanted = JobFilter(**batch.selection["where"])
    state: dict[str, Any] = dict(batch.selection["collect"])
    alias: str = state["servers"][0]
    server = next((s for s in servers() if s.alias == alias), None)
    # a server that the settings do not name any more has nothing to be found
    found, more = _ask(server, wanted, state) if server is not None else ([], False)
    if not more:
        state |= {"servers": state["servers"][1:], "cursor": "", "of": None, "here": 0}
    with transaction.atomic():
        fresh = Batch.objects.select_for_update().get(pk=batch.pk)
        if fresh.owner != owner or fresh.state != Batch.State.RUNNING:
            return False
        found = found[: MOST - fresh.total]
        BatchItem.objects.bulk_create(
            BatchItem(batch=batch, position=fresh.total + at, server=alias, job_id=job) for at, job in enumerate(found)
        )
        fresh.total += len(found)
        fresh.selection = {**fresh.selection, "collect": state}
        if not pending(fresh):
            fresh.total -= _each_once(fresh)
        fresh.owned_until = until
        fresh.save(update_fields=("total", "selection", "owned_until"))
    batch.total, batch.selection = fresh.total, fresh.selection
    return True


def _ask(server: Server, wanted: JobFilter, state: dict[str, Any]) -> tuple[list[str], bool]:
    """The ids of the next page, and whether there is more. What comes in meanwhile is left for another batch."""
    back = wanted.state in BACK
    names = [wanted.queue] if wanted.queue is not None else sorted(queues(server))
    cursor = Cursor.read(state["cursor"]) if state["cursor"] else None
    got = read(server, wanted, names, cursor=cursor, back=back, size=500, plain=True, count=state["of"] is None)
    if state["of"] is None:
        state["of"] = got.total
    state["here"] += got.looked
    state["looked"] += got.looked
    place = got.first if back else got.last
    state["cursor"] = place.text() if place else ""
    rows = got.rows[::-1] if back else got.rows
    # an id that cannot be written down exactly could not be found again
    ids = [row.id for row in rows if cleaned(row.id, 255) == row.id]
    return ids, got.left and place is not None and state["here"] < state["of"]


def _each_once(batch: Batch) -> int:
    """An entry that moved while pages were read may have been met twice: its later items go. How many went."""
    gone = 0
    twice = batch.items.order_by().values("server", "job_id").annotate(n=Count("id"), first=Min("position"))
    for row in twice.filter(n__gt=1)[:MOST]:
        same = batch.items.filter(server=row["server"], job_id=row["job_id"], position__gt=row["first"])
        gone += same.delete()[0]
    return gone
