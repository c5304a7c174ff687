"""The states and events of the glossary: the word people read, its colour class and its glyph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Look:
    """``css`` selects colour and tint, ``glyph`` the symbol of the sprite."""

    word: Any
    css: str
    glyph: str


STATES: dict[str, Look] = {
    "scheduled": Look(_("scheduled"), "s-scheduled", "scheduled"),
    "queued": Look(_("queued"), "s-queued", "queued"),
    "parked": Look(_("parked"), "s-parked", "parked"),
    "running": Look(_("running"), "s-running", "running"),
    "completed": Look(_("completed"), "s-completed", "completed"),
    "failed": Look(_("failed"), "s-failed", "failed"),
    "quarantined": Look(_("quarantined"), "s-quarantined", "quarantined"),
    "discarded": Look(_("discarded"), "s-discarded", "discarded"),
    "duplicate": Look(_("duplicate"), "s-duplicate", "duplicate"),
    "rejected": Look(_("rejected"), "s-rejected", "rejected"),
    "superseded": Look(_("superseded"), "s-superseded", "superseded"),
    "retries": Look(_("retries"), "s-scheduled", "wake"),
    "recurring": Look(_("recurring"), "s-scheduled", "scheduled"),
    "deferred": Look(_("deferred"), "s-scheduled", "superseded"),
    "rate_limited": Look(_("held by RQ's rate limit"), "s-parked", "limit"),
    "intermediate": Look(_("between queue and worker"), "s-queued", "queued"),
    "unknown": Look(_("unknown"), "s-unknown", "unknown"),
    "gone": Look(_("gone"), "s-unknown", "unknown"),
    "canceled": Look(_("cancelled"), "s-discarded", "discarded"),
    "stopped": Look(_("stopped"), "s-failed", "failed"),
    "busy": Look(_("busy"), "s-running", "running"),
    "idle": Look(_("idle"), "s-queued", "queued"),
    "silent": Look(_("silent"), "s-bad", "warn"),
    "paused": Look(_("paused"), "s-held", "pause"),
    "isolated": Look(_("isolated"), "s-quarantined", "quarantined"),
    "applying": Look(_("being applied"), "s-scheduled", "scheduled"),
}

RQ_STATES = {
    "created": "scheduled",
    "started": "running",
    "finished": "completed",
    "ready_to_enqueue": "queued",
    "canceled": "canceled",
}

LEVELS: dict[str, Look] = {
    "ok": Look(_("Healthy."), "s-ok", "completed"),
    "warn": Look(_("Degraded:"), "s-warn", "warn"),
    "bad": Look(_("Unhealthy:"), "s-bad", "failed"),
    "unknown": Look(_("Unknown."), "s-unknown", "unknown"),
}

KINDS = {
    "lock": _("no overlap"),
    "semaphore": _("semaphore"),
    "rate": _("rate"),
    "unique": _("unique"),
    "unique_run": _("unique while running"),
    "breaker": _("breaker"),
    "pause": _("paused function"),
}

TIMES = {
    "created_at": _("Created"),
    "enqueued_at": _("Enqueued"),
    "started_at": _("Started"),
    "ended_at": _("Ended"),
    "last_heartbeat": _("Last heartbeat"),
}

FACTS = {
    "place": _("place"),
    "place in line": _("place in line"),
    "since": _("since"),
    "starts": _("starts"),
    "lease ends": _("lease ends"),
    "next try": _("next try"),
    "comes back": _("comes back"),
    "limit": _("limit"),
    "quarantined": _("quarantined"),
    "waiting for": _("waiting for"),
}

_VERBS: dict[str, tuple[str, str]] = {
    "acquired": ("s-running", "lock"),
    "released": ("s-completed", "check"),
    "refused": ("s-parked", "parked"),
    "expired": ("s-bad", "warn"),
    "foreign_release": ("s-bad", "warn"),
    "force_released": ("s-warn", "wake"),
    "limit_changed": ("s-held", "limit"),
    "definition_conflict": ("s-warn", "warn"),
    "paused": ("s-held", "pause"),
    "resumed": ("s-accent", "running"),
    "isolated": ("s-quarantined", "quarantined"),
    "unisolated": ("s-accent", "wake"),
    "woken": ("s-accent", "wake"),
    "replayed": ("s-accent", "wake"),
    "requeued": ("s-accent", "wake"),
    "run_now": ("s-accent", "wake"),
    "started": ("s-running", "running"),
    "retried": ("s-scheduled", "scheduled"),
    "failed_attempt": ("s-failed", "failed"),
    "crashed": ("s-bad", "warn"),
    "put_back": ("s-queued", "queued"),
    "accepted": ("s-queued", "queued"),
    "adopted": ("s-queued", "queued"),
    "skipped": ("s-discarded", "discarded"),
    "cancelled": ("s-discarded", "discarded"),
    "duplicate": ("s-discarded", "discarded"),
    "superseded": ("s-discarded", "discarded"),
    "missing": ("s-warn", "warn"),
    "taken_over": ("s-warn", "warn"),
    "opened": ("s-held", "pause"),
    "quieted": ("s-held", "pause"),
    "unquieted": ("s-accent", "running"),
    "went_silent": ("s-bad", "warn"),
}


def state(name: str) -> Look:
    """The look of a state; one that is not in the glossary shows its own word."""
    return STATES.get(RQ_STATES.get(name, name)) or Look(name, "s-unknown", "unknown")


def level(name: str) -> Look:
    return LEVELS.get(name, LEVELS["unknown"])


def event(name: str) -> tuple[str, str]:
    """``(css class, glyph)`` of a changelog event ``subject.verb``."""
    verb = name.rpartition(".")[2]
    if verb in _VERBS:
        return _VERBS[verb]
    look = STATES.get(verb)
    return (look.css, look.glyph) if look else ("s-unknown", "info")
