"""Is this Redis fit to hold locks? Its eviction policy, evicted keys and memory; unknown stays unknown."""

from __future__ import annotations

from typing import Any

from redis.exceptions import ResponseError

from queueops.monitor.duty import Context


def act(context: Context) -> dict[str, Any]:
    """Read policy and counters; ``warnings`` are shown until they no longer hold."""
    info, policy = _info(context), _policy(context)
    evicted = info.get("evicted_keys")
    used, most = info.get("used_memory"), info.get("maxmemory") or 0
    before = context.memory.get("evicted")
    context.memory["evicted"] = evicted
    warnings = []
    if policy not in ("noeviction", "unknown") and most:
        warnings.append(f"Redis may evict keys (maxmemory-policy {policy}): locks and jobs can vanish. Set noeviction.")
    elif policy not in ("noeviction", "unknown"):
        warnings.append(f"maxmemory-policy is {policy}: should a limit be set, locks can vanish. Set noeviction.")
    if isinstance(evicted, int) and isinstance(before, int) and evicted > before:
        warnings.append(f"Redis has evicted {evicted - before} keys since the last look: locks or jobs were lost.")
    if most and isinstance(used, int) and used > 0.9 * most:
        warnings.append(f"Redis uses {used * 100 // most} % of its memory limit: enqueues will soon be refused.")
    return {"policy": policy, "evicted": evicted, "used": used, "limit": most, "warnings": warnings}


def _info(context: Context) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for section in ("memory", "stats"):
        try:
            found.update(context.connection.info(section))
        except ResponseError:
            # forbidden by the server's rules: what it would say is unknown
            continue
    return found


def _policy(context: Context) -> str:
    try:
        answer = context.connection.config_get("maxmemory-policy")
    except ResponseError:
        return "unknown"
    return str(answer.get("maxmemory-policy") or "unknown")
