"""Deploys: what people or pipelines tell, and what the workers show by themselves; marks on every chart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from queueops.conf import conf
from queueops.models import Intervention
from queueops.operations.errors import OperationError
from queueops.operations.interventions import intervene
from queueops.operations.text import cleaned
from queueops.rdb.client import Server

VERB = "deploy"
BY_ITSELF = "queueops"
"""The actor of what nobody told."""
LOOK_BACK = 86_400
"""Seconds: a release whose first worker came earlier is not noted any more."""
NEWEST = 20


def mark_deploy(text: str, *, actor: str, reason: str = "") -> Intervention:
    """Leave a mark: something was deployed now. Raises ``OperationError`` without a text."""
    text = " ".join(str(text).split())
    if not text:
        raise OperationError("Say what was deployed: a version, a commit, a name.", "no_text")
    with intervene(VERB, text, actor=actor, reason=reason or text) as record:
        done = record
    return done.row


def note_releases(server: Server) -> int:
    """Leave a mark for each release (``QUEUEOPS["RELEASE"]``) whose first worker started lately; how many are new."""
    seen = server.connection.zrevrange(conf.keys.static("releases"), 0, NEWEST - 1, withscores=True)
    since = datetime.now(UTC) - timedelta(seconds=LOOK_BACK)
    known = set(Intervention.objects.filter(verb=VERB, actor=BY_ITSELF, at__gte=since).values_list("target", flat=True))
    fresh = []
    for raw, score in seen:
        at = datetime.fromtimestamp(score / 1e6, UTC)
        target = cleaned(f"release {raw.decode('utf-8', 'replace')}", 600)
        if at >= since and target not in known:
            known.add(target)
            done, why = Intervention.State.DONE, "its first worker started"
            fresh.append(Intervention(at=at, actor=BY_ITSELF, verb=VERB, target=target, reason=why, state=done))
    Intervention.objects.bulk_create(fresh)
    return len(fresh)
