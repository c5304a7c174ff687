"""Indexes are kept small: empty controls, workers unheard of, old names. A page a time, going round.

The changelog is cut on each write; here it follows a cap that was lowered, or is emptied when it was switched off.
"""

from __future__ import annotations

from typing import Any

from queueops.conf import conf
from queueops.monitor.duty import Context
from queueops.rdb.scripts import run

PAGE = 500
PAGES = 20
WORKER_AGE = 600
"""Seconds after which a worker without a sign of life is forgotten; long before, it is shown as silent."""
NAME_AGE = 30 * 86_400
FUNCTIONS = 5_000
RELEASES = 200


def _cut_changelog(context: Context) -> None:
    log = conf.keys.static("log")
    if conf.CHANGELOG_LENGTH:
        context.connection.xtrim(log, maxlen=conf.CHANGELOG_LENGTH, approximate=False)
    else:
        context.connection.unlink(log)


def act(context: Context) -> dict[str, Any]:
    """Look at the next pages of instances; those in use stay and are passed over the next time."""
    offset, looked, forgotten, workers = int(context.memory.get("offset", 0)), 0, 0, 0
    for _ in range(PAGES):
        if not context.may_go_on:
            break
        seen, gone, silent = run(
            context.connection, "trim", offset, PAGE, WORKER_AGE * 10**6, NAME_AGE * 10**6, FUNCTIONS, RELEASES
        )
        looked, forgotten, workers = looked + seen, forgotten + gone, workers + silent
        offset += seen - gone
        if seen < PAGE:
            offset = 0
            break
    context.memory["offset"] = offset
    _cut_changelog(context)
    return {"checked": looked, "forgotten": forgotten, "workers": workers}
