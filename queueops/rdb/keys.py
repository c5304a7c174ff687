"""Every Redis key of queueops, and the RQ keys that its scripts touch: the only key builder.

Lua writes them as ``K.<name>`` (see :func:`lua_literals`), so no key is spelled twice.
A *static* key is complete; a *family* is a prefix that takes one suffix.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from rq.defaults import RQ_KEY_PREFIX

SEP = "\x1f"
"""Between the parts of a member or field: no name may contain it (names are checked when declared)."""

KIND_LETTERS = {
    "lock": "L",
    "semaphore": "S",
    "rate": "R",
    "pause": "P",
    "unique": "U",
    "unique_run": "X",
    "breaker": "B",
}
KINDS = {letter: kind for kind, letter in KIND_LETTERS.items()}

MAX_KEY_TEXT = 200
"""Bytes of a rendered key kept readable inside an instance; a longer one is hashed."""

STATIC = {
    "schema": "schema",  # string: number of this layout
    "epoch": "epoch",  # string: set once the SQL settings are mirrored; its absence means "rebuild first"
    "counting_since": "counting_since",  # string: since when a missing counter means zero (µs); gone when emptied
    "controls": "controls",  # hash: control -> JSON definition in force (newest release wins)
    "conflicts": "conflicts",  # hash: control -> JSON definition of a live release that disagrees
    "overrides": "overrides",  # hash: control -> JSON {limit, until, by, id}
    "releases": "releases",  # zset: release id -> first seen (µs)
    "paused": "paused",  # hash: "q:<queue>" | "f:<function>" | "all" -> JSON {until, by, reason, id}
    "isolated": "isolated",  # hash: "f:<function>" | "e:<fingerprint>" | "k:<instance>" -> JSON {by, reason, id}
    "instances": "instances",  # zset: instance with holders, offers or waiters -> last change (µs)
    "pump": "pump",  # zset: instance -> when room may appear by itself (µs)
    "leases": "leases",  # hash: token -> JSON {job, queue, function, worker, started, span, holds}
    "lease_ends": "lease_ends",  # zset: token -> end (µs)
    "running": "running",  # hash: job id -> token of its live lease
    "again": "again",  # hash: job id seen on a queue while its lease was live -> queue
    "renewed_call": "renewed_call",  # set: those of them that plain RQ enqueued anew, with a call of their own
    "expiring": "expiring",  # zset: open job with a ttl -> when its hash expires (µs)
    "quiet": "quiet",  # hash: worker that is to start nothing new -> JSON {by, reason, at (µs, text)}
    "served": "served",  # hash: queue -> last claim (µs)
    "queues": "queues",  # zset: queue that queueops has seen -> last activity (µs)
    "functions": "functions",  # zset: "<queue>␟<function>" -> last activity (µs)
    "worker_queues": "worker_queues",  # hash: idle worker -> JSON list of its queues
    "keeper": "keeper",  # string: the idle worker that waits only until the next due time
    "parents": "parents",  # set: ended jobs whose dependents RQ's code is still to look at
    "quarantine_info": "quarantine_info",  # hash: job id -> JSON {queue, function, reason, error, attempts, at, ...}
    "quarantine_todo": "quarantine_todo",  # set: job ids whose SQL copy is to be made or updated
    "key_text": "key_text",  # hash: instance whose key was hashed -> readable text
    "log": "log",  # stream: the changelog
    "snapshot": "snapshot",  # string: JSON of the newest snapshot
    "snapshot_channel": "snapshot_channel",  # pub/sub channel of the same
    "samples": "samples",  # list: JSON {at, queues: {queue: [open, {event: total}]}}, newest first, one a minute
    "touched": "touched",  # string: what every door writes first, so that a server that takes no writes stops it there
    "cursors": "cursors",  # hash: instance -> place in its line, "q:<queue>" -> place in p:<queue>, of a look not done
    "probe": "probe",  # string: what the newest health check wrote
    "monitor_leader": "monitor_leader",  # string: token of the leading monitor, with expiry
    "monitor_state": "monitor_state",  # hash: when the monitor last did what
    "clock": "clock",  # string: how a test has moved or stopped the clock (queueops.testing); never read otherwise
    "workers": "workers",  # zset: worker -> last sign of life (µs)
    "rq_queues": f"{RQ_KEY_PREFIX}:queues",
    "rq_workers": f"{RQ_KEY_PREFIX}:workers",
    "rq_suspended": f"{RQ_KEY_PREFIX}:suspended",
    "rq_cron_schedulers": f"{RQ_KEY_PREFIX}:cron_schedulers",  # zset: scheduler of RQ's cron -> last heartbeat (s)
    "rq_limits": f"{RQ_KEY_PREFIX}:rl-keys",  # set: keys of RQ's own RateLimit
}

FAMILIES = {
    "holders": "h:",  # zset h:<instance>: token -> end (µs); rates: token -> start; breakers: of failures
    "holder_weights": "hw:",  # hash: token -> weight where it is not 1; field "" -> sum of (weight - 1)
    "offers": "o:",  # zset o:<instance>: job id -> end (µs)
    "offer_weights": "ow:",  # hash, as holder_weights
    "line": "w:",  # zset w:<instance>: job id -> waiting since (µs)
    "callers": "c:",  # zset c:<instance>: token of a process that waits for it (primitives) -> waiting since (µs)
    "callers_claim": "cc:",  # string cc:<instance>: JSON claim that the callers share
    "callers_seen": "cs:",  # zset cs:<instance>: the same token -> last sign of life (µs)
    "fresh": "fresh:",  # hash fresh:<unique instance>: accepted, completed -> when that last happened (µs)
    "history": "hist:",  # stream hist:<instance>: its newest events, as in the changelog; ends some time after the last
    "rate": "r:",  # hash r:<instance>: state of the window and bucket strategies; unique: by_time; breakers: until (µs)
    "parked": "p:",  # zset p:<queue>: job id -> when it is looked at again by itself (µs)
    "waiting": "wait:",  # zset wait:<queue>: open job that could run by now -> waiting since (µs)
    "quarantined": "q:",  # zset q:<queue>: job id -> quarantined at (µs)
    "idle": "idle:",  # zset idle:<queue>: idle worker -> since (µs)
    "aside": "aside:",  # any aside:<key>: what stood under a key of ours and was of another type, kept for a week
    "bell": "bell:",  # list bell:<worker>: one element wakes it
    "total": "nt:",  # hash nt:<queue>: event -> count since the beginning
    "ten": "n10:",  # hash n10:<start of 10 s>: "<queue>␟<event>" -> count
    "minute": "n60:",  # hash n60:<start of minute>␟<queue>␟<function>: event | w<bin> | r<bin> | wt | rt -> count
    "rq_queue": f"{RQ_KEY_PREFIX}:queue:",
    "rq_job": f"{RQ_KEY_PREFIX}:job:",
    "rq_wip": f"{RQ_KEY_PREFIX}:wip:",
    "rq_scheduled": f"{RQ_KEY_PREFIX}:scheduled:",
    "rq_deferred": f"{RQ_KEY_PREFIX}:deferred:",
    "rq_ready": f"{RQ_KEY_PREFIX}:ready:",
    "rq_failed": f"{RQ_KEY_PREFIX}:failed:",
    "rq_finished": f"{RQ_KEY_PREFIX}:finished:",
    "rq_canceled": f"{RQ_KEY_PREFIX}:canceled:",
    "rq_execution": f"{RQ_KEY_PREFIX}:execution:",
    "rq_executions": f"{RQ_KEY_PREFIX}:executions:",
    "rq_worker": f"{RQ_KEY_PREFIX}:worker:",
    "rq_results": f"{RQ_KEY_PREFIX}:results:",  # stream: results of a job
    "rq_cron_scheduler": f"{RQ_KEY_PREFIX}:cron_scheduler:",  # hash: one of them; its entries as JSON in cron_jobs
    "rq_limit": f"{RQ_KEY_PREFIX}:rl:",  # zset rq:rl:<key>:rate_limited: jobs that RQ's own RateLimit holds back
}

_TYPES = {
    "string": """
        schema epoch counting_since keeper snapshot touched probe monitor_leader clock callers_claim rq_suspended
    """,
    "hash": """
        controls conflicts overrides paused isolated leases running again quiet served worker_queues quarantine_info
        key_text cursors monitor_state holder_weights offer_weights fresh rate total ten minute
        rq_job rq_execution rq_worker rq_cron_scheduler
    """,
    "zset": """
        releases instances pump lease_ends expiring queues functions workers holders offers line callers callers_seen
        parked waiting quarantined idle rq_cron_schedulers rq_wip rq_scheduled rq_deferred rq_ready rq_failed
        rq_finished rq_canceled rq_executions rq_limit
    """,
    "set": "renewed_call parents quarantine_todo rq_queues rq_workers rq_limits",
    "list": "samples bell rq_queue",
    "stream": "log history rq_results",
}
TYPES = {name: kind for kind, names in _TYPES.items() for name in names.split()}
"""What Redis calls the type of each key and family."""

PER_QUEUE = ("parked", "waiting", "quarantined", "idle", "total")
PER_INSTANCE = (
    "holders", "holder_weights", "offers", "offer_weights", "line", "callers", "callers_claim", "callers_seen", "rate",
    "fresh", "history",
)  # fmt: skip
RQ_PER_QUEUE = (
    "rq_queue", "rq_wip", "rq_scheduled", "rq_deferred", "rq_ready", "rq_failed", "rq_finished", "rq_canceled",
)  # fmt: skip

JOB_FIELDS = {
    # written by Python, once, when the job is created
    "claims": "qo_claims",  # JSON list of claims (middleware.claims)
    "func": "qo_func",  # dotted name
    "uniques": "qo_uniques",  # JSON list of what it must be the only one of (middleware.unique)
    "policy": "qo_policy",  # JSON {after, crashes}: the quarantine rule
    "uncounted": "qo_uncounted",  # saved by RQ itself and not yet counted as accepted; whoever counts it takes it off
    "tags": "qo_tags",  # "␟tag␟tag␟" of meta={"tags": [...]}: pages never unpickle meta
    # written by Lua only: never part of Job.to_dict
    "since": "qo_since",  # waiting since (µs)
    "token": "qo_token",  # token of the newest execution
    "attempts": "qo_attempts",  # starts over all requeues, less put-backs
    "failures": "qo_failures",  # failed attempts over all requeues
    "crashes": "qo_crashes",  # attempts whose process died, within a day
    "crash_at": "qo_crash_at",  # first of those (µs)
    "parked": "qo_parked",  # instance in whose line the job waits, "" when it comes back by time
    "reserved": "qo_reserved",  # its unique locks are taken, RQ is about to save it with its dependencies (µs)
    "reschedules": "qo_reschedules",  # how often it was put off because of a unique lock
    "progress": "qo_progress",  # JSON {token, done, total, note}: how far a run says it is
    "parkings": "qo_parkings",  # how often it was parked
    "settled": "qo_settled",  # "<token, 8 digits> <outcome told> <outcome recorded>" of the run that last ended
    "error": "qo_error",  # fingerprint of its newest failure
    "error_line": "qo_error_line",  # "<type>: <message>" of it, cut at 500 characters
    "call": "qo_call",  # bulk call that last put it on its queue: repeated, it finds its work done
    "quarantined": "qo_quarantined",  # reason
    "replay_of": "qo_replay_of",
    "replayed_as": "qo_replayed_as",
    "replays": "qo_replays",
}


def instance(kind: str, name: str, key: str = "") -> str:
    """The id of one lock, semaphore, rate or pause line: kind letter, name, and rendered key.

    A key longer than ``MAX_KEY_TEXT`` bytes (or one that starts like a hashed one) is replaced by its SHA-256.
    """
    raw = key.encode("utf-8", "surrogatepass")
    if len(raw) > MAX_KEY_TEXT or key.startswith("#"):
        key = "#" + hashlib.sha256(raw).hexdigest()
    return f"{control_id(kind, name)}{SEP}{key}"


def control_id(kind: str, name: str) -> str:
    """The id of a control: kind letter and name, e.g. ``S:s3-upload``."""
    return f"{KIND_LETTERS[kind]}:{name}"


def split_instance(text: str) -> tuple[str, str, str]:
    """``(kind, name, key)`` of an instance id, as made by :func:`instance`."""
    head, _, key = text.partition(SEP)
    return KINDS.get(head[:1], "unknown"), head[2:], key


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys under one prefix. ``keys.static("leases")``, ``keys.of("parked", "default")``."""

    prefix: str = "qo:"

    def static(self, name: str) -> str:
        value = STATIC[name]
        return value if name.startswith("rq_") else self.prefix + value

    def of(self, family: str, suffix: str) -> str:
        value = FAMILIES[family] + suffix
        return value if family.startswith("rq_") else self.prefix + value


_NAMED = re.compile(r"\b([KF])\.(\w+)")


def lua_literals(keys: Keys, source: str) -> str:
    """``source`` with each ``K.name`` (a key, or the prefix of a family) and ``F.name`` (a field of the job hash)
    replaced by its text. As tables they would be built anew for each call of a script: up to 8 µs.

    Raises ``ValueError`` for a name that does not exist.
    """

    def literal(match: re.Match[str]) -> str:
        table, name = match.groups()
        if table == "F" and name in JOB_FIELDS:
            text = JOB_FIELDS[name]
        elif table == "K" and name in STATIC:
            text = keys.static(name)
        elif table == "K" and name in FAMILIES:
            text = keys.of(name, "")
        else:
            raise ValueError(f"a script names {table}.{name}, which rdb/keys.py does not know")
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return "local SEP='\\31'\n" + _NAMED.sub(literal, source)
