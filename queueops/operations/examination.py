"""What ``doctor`` looks at: is this installation fit to run, and what is unknown?"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from django.core.checks import ERROR, run_checks
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from redis.exceptions import RedisError, ResponseError

from queueops.conf import conf
from queueops.operations.clock import now_us
from queueops.rdb import mending, scripts
from queueops.rdb.client import Server, servers, told
from queueops.telemetry.snapshot import Facts, gather

OLDEST_REDIS = (6, 2)
CLOCK_SLACK = 1.0
"""Seconds that this host's clock may differ from Redis before it is mentioned: texts show it, nothing decides by it."""
MONITOR_QUIET = 60.0
MENTIONED, PAGE = 10, 1000
JSON_HASHES = ("controls", "conflicts", "overrides", "paused", "isolated", "leases", "quiet", "quarantine_info")


@dataclass(frozen=True, slots=True)
class Finding:
    """``state`` is ok, bad, warn or unknown. ``text`` says what was seen and, when it is not ok, what to do."""

    check: str
    state: str
    text: str


def examine() -> list[Finding]:
    """Every check, each on its own: one that fails is a finding, not an end."""
    found = [*_guard("settings", _settings), *_guard("migrations", _migrations)]
    for server in servers():
        many = len(servers()) > 1
        label = f" of {server.alias}" if many else ""
        answers = _guard("redis" + label, partial(_write, server))
        found += [_labelled(finding, label) for finding in answers]
        if answers[0].state == "bad":
            continue
        for name, check in (("policy", _policy), ("log", _log), ("records", _records), ("workers", _observed)):
            found += [_labelled(f, label) for f in _guard(name, partial(check, server))]
    return found


def _labelled(finding: Finding, label: str) -> Finding:
    return Finding(finding.check.removesuffix(label) + label, finding.state, finding.text)


def _guard(name: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    try:
        return list(check())
    except (RedisError, DatabaseError, OSError) as error:
        text = told(error) if isinstance(error, RedisError) else f"{type(error).__name__}: {error}"
        return [Finding(name, "bad", text)]


def _settings() -> Iterator[Finding]:
    messages = run_checks(tags=["queueops"])
    for message in messages:
        hint = f" {message.hint}" if message.hint else ""
        yield Finding("settings", "bad" if message.level >= ERROR else "warn", f"{message.msg}{hint}")
    if not messages:
        yield Finding("settings", "ok", "settings and classes are as they should be")


def _migrations() -> Iterator[Finding]:
    executor = MigrationExecutor(connections["default"])
    plan = executor.migration_plan([node for node in executor.loader.graph.leaf_nodes() if node[0] == "queueops"])
    if plan:
        names = ", ".join(migration.name for migration, _ in plan)
        yield Finding("migrations", "bad", f"not applied: {names}; run manage.py migrate")
    else:
        yield Finding("migrations", "ok", "all applied")


def _write(server: Server) -> Iterator[Finding]:
    """A real write by a real script: a ping says nothing about a read-only or full server."""
    connection, word = server.connection, secrets.token_hex(8)
    answer = scripts.run(connection, "probe", word)
    if answer != word.encode():
        yield Finding("redis", "bad", f"a script wrote {word} and read back {answer!r}")
        return
    info = _info(connection, "server")
    version = str(info.get("valkey_version") or info.get("redis_version") or "")
    numbers = tuple(int(part) for part in str(info.get("redis_version", "")).split(".")[:2] if part.isdigit())
    if not numbers:
        yield Finding("redis", "unknown", "scripts that write work; its version is not told")
    elif numbers < OLDEST_REDIS:
        yield Finding("redis", "bad", f"version {version} is older than 6.2, which scripts need")
    else:
        yield Finding("redis", "ok", f"version {version}, scripts that write work")
    off = now_us(connection) / 1_000_000 - time.time()
    if abs(off) > CLOCK_SLACK:
        text = f"this host is {abs(off):.1f} s {'behind' if off > 0 else 'ahead of'} Redis; set the clocks by NTP"
        yield Finding("clock", "warn", text)
    else:
        yield Finding("clock", "ok", f"{abs(off) * 1000:.0f} ms from Redis")


def _info(connection: Any, section: str) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = connection.info(section)
    except ResponseError:
        return {}
    return answer


def _config(connection: Any, name: str) -> str | None:
    """A setting of the server; None where CONFIG is forbidden."""
    try:
        return str(connection.config_get(name)[name])
    except (ResponseError, KeyError):
        return None


def _policy(server: Server) -> Iterator[Finding]:
    policy = _config(server.connection, "maxmemory-policy")
    if policy is None:
        policy = _info(server.connection, "memory").get("maxmemory_policy")
    evicted = _info(server.connection, "stats").get("evicted_keys")
    if policy is None:
        yield Finding("eviction", "unknown", "Redis does not tell its maxmemory-policy; it must be noeviction")
    elif policy != "noeviction":
        text = f"maxmemory-policy is {policy}: locks and jobs can vanish; CONFIG SET maxmemory-policy noeviction"
        yield Finding("eviction", "bad", text)
    else:
        yield Finding("eviction", "ok", "maxmemory-policy is noeviction")
    if evicted is None:
        yield Finding("evicted", "unknown", "Redis does not tell how many keys it has evicted")
    elif int(evicted):
        yield Finding("evicted", "warn", f"{evicted} keys were evicted since Redis started, maybe jobs or locks")
    else:
        yield Finding("evicted", "ok", "no key was ever evicted")


def _log(server: Server) -> Iterator[Finding]:
    enabled = _info(server.connection, "persistence").get("aof_enabled")
    if enabled is None:
        told = _config(server.connection, "appendonly")
        enabled = None if told is None else int(told == "yes")
    if enabled is None:
        yield Finding("appendonly", "unknown", "Redis does not tell whether it keeps an append-only file")
    elif not int(enabled):
        yield Finding("appendonly", "warn", "no append-only file: a Redis that dies forgets all; set appendonly yes")
    else:
        yield Finding("appendonly", "ok", "append-only file is on")


def _records(server: Server) -> Iterator[Finding]:
    """Keys of another type, and texts in ours that say nothing; a page of each hash is read."""
    ours, of_rq = mending.unreadable(server.connection)
    for key, found, wanted in ours[:MENTIONED]:
        place = conf.keys.of("aside", key)
        text = f"{key} holds a {found}, not a {wanted}: the next worker or monitor sets it aside as {place}"
        yield Finding("records", "bad", text)
    for key, found, wanted in of_rq[:MENTIONED]:
        yield Finding("records", "bad", f"{key} holds a {found}, not a {wanted}; it is RQ's: rename or delete it")
    garbled = [] if ours else list(islice(_garbled(server.connection), MENTIONED))
    for key, name in garbled:
        yield Finding("records", "warn", f"{key}: what stands under {name!r} cannot be read; HDEL it")
    if not ours and not of_rq and not garbled:
        yield Finding("records", "ok", "all of their type")


def _garbled(connection: Any) -> Iterator[tuple[str, str]]:
    for name in JSON_HASHES:
        key = conf.keys.static(name)
        _, page = connection.hscan(key, count=PAGE)
        for field, raw in page.items():
            try:
                told = json.loads(raw)
            except ValueError:
                told = None
            if not isinstance(told, dict):
                yield key, field.decode("utf-8", "replace")


def _observed(server: Server) -> Iterator[Finding]:
    facts = gather(server)
    if server.connection.exists(conf.keys.static("epoch")):
        yield Finding("settings mirror", "ok", "pauses and limits are mirrored to this Redis")
    else:
        yield Finding("settings mirror", "warn", "not yet on this Redis: the next worker or monitor writes it")
    yield _workers(facts)
    yield _monitor(facts)


def _workers(facts: Facts) -> Finding:
    plain = [worker.name for worker in facts.workers if not worker.ours]
    silent = [worker.name for worker in facts.workers if worker.state == "silent"]
    if plain:
        names = ", ".join(plain[:5]) + (f" and {len(plain) - 5} more" if len(plain) > 5 else "")
        text = f"not of queueops, so they pass all controls by: {names}; start them with queueops.rq.Worker"
        return Finding("workers", "bad", text)
    if not facts.workers:
        return Finding("workers", "warn", "none is running")
    if silent:
        return Finding(
            "workers", "warn", f"{len(silent)} of {len(facts.workers)} give no sign of life: {', '.join(silent[:5])}"
        )
    return Finding("workers", "ok", f"{len(facts.workers)}, all of queueops")


def _monitor(facts: Facts) -> Finding:
    """Its newest sign of life is that of whichever duty ran last."""
    signs = [
        int(value)
        for duty in facts.duties.values()
        if isinstance(duty, dict)
        for value in (duty.get("at"),)
        if isinstance(value, (int, float))
    ]
    if not signs:
        return Finding("monitor", "warn", "has never run here; start it with manage.py queueops monitor")
    quiet = (facts.at - max(signs)) / 1_000_000
    if quiet > MONITOR_QUIET:
        return Finding(
            "monitor", "bad", f"last sign of life {quiet:.0f} s ago; start it with manage.py queueops monitor"
        )
    return Finding("monitor", "ok", f"last sign of life {max(0.0, quiet):.0f} s ago")
