"""The settings of queueops: ``QUEUEOPS = {...}`` in Django's settings, read lazily, checked, with defaults.

``from queueops.conf import conf`` and use ``conf.LEASE``; see :data:`OPTIONS` for all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from queueops.rdb.keys import Keys

DEFAULT_MAX_AGE = 60.0
"""Seconds that a job may wait where ``QUEUES`` does not say."""


LOG_NAMES = {"job_id", "queue", "function", "worker"}
"""What a ``LOG_URL`` may name."""


class BadValue(ValueError):
    """What is wrong with a value, and what would be right."""


def _prefix(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[\x21-\x7e]{1,50}", value) or value.startswith("rq:"):
        raise BadValue('must be 1 to 50 printable characters without spaces, not starting with "rq:", e.g. "qo:"')
    return value


def _release(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > 100 or not value.isprintable():
        raise BadValue('must be None or a printable text of at most 100 characters, e.g. "2025-06-01.3"')
    return value


def _seconds(low: float, high: float) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise BadValue(f"must be a number of seconds from {low:g} to {high:g}")
        if not low <= value <= high:
            raise BadValue(f"must be from {low:g} to {high:g} seconds")
        return float(value)

    return check


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise BadValue(f"must be a whole number from {low} to {high}")
        return value

    return check


def _quarantine(value: Any) -> dict[str, int]:
    known = {"after": 3, "crashes": 2}
    if not isinstance(value, dict):
        raise BadValue('must be a dict such as {"after": 3, "crashes": 2}')
    if unknown := set(value) - set(known):
        raise BadValue(f"has unknown keys {_listed(unknown)}; known are {_listed(known)}")
    for key, number in value.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise BadValue(f"{key!r} must be a whole number of at least 1")
    return {**known, **value}


def _queues(value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict):
        raise BadValue('must be a dict such as {"default": {"max_age": 60}}')
    check_age = _seconds(0.1, 30 * 86400)
    result: dict[str, dict[str, Any]] = {}
    for name, options in value.items():
        if not isinstance(name, str) or not isinstance(options, dict):
            raise BadValue('maps names of queues to dicts, such as {"default": {"max_age": 60}}')
        if unknown := set(options) - {"max_age"}:
            raise BadValue(f"of {name!r} has unknown keys {_listed(unknown)}; known is max_age")
        try:
            result[name] = {"max_age": check_age(options.get("max_age", DEFAULT_MAX_AGE))}
        except BadValue as error:
            raise BadValue(f"of {name!r}: max_age {error}") from None
    return result


def _controls(value: Any) -> dict[str, Any]:
    fix = 'must be a dict such as {"shop.tasks.send_mail": [RateLimited("mail", limit=50, per=60)], "queue:low": [...]}'
    if not isinstance(value, dict):
        raise BadValue(fix)
    for target, declared in value.items():
        if not isinstance(target, str) or not target or not isinstance(declared, (list, tuple)):
            raise BadValue(fix)
    return dict(value)


def _log_url(value: Any) -> str:
    fix = 'must be "" or a template of an http address such as "https://logs.example/?q={job_id}"'
    if not isinstance(value, str) or len(value) > 1000 or not value.isprintable():
        raise BadValue(fix)
    if not value:
        return value
    if not re.match(r"https?://[^/?#{}\s]+([/?#]|$)", value):
        raise BadValue(f"{fix}; the host may not come from a job")
    names = re.findall(r"\{(.*?)\}", value)
    unpaired = value.count("{") != len(names) or value.count("}") != len(names)
    if "job_id" not in names or set(names) - LOG_NAMES or unpaired:
        raise BadValue(f"{fix}, with {{job_id}} and of {_listed(LOG_NAMES)} only")
    return value


def _listed(names: Any) -> str:
    return ", ".join(sorted(map(str, names)))


@dataclass(frozen=True, slots=True)
class Option:
    """One key of ``QUEUEOPS``: its default, its check (returns the value to use), and what it is."""

    default: Any
    check: Callable[[Any], Any]
    help: str


OPTIONS: dict[str, Option] = {
    "PREFIX": Option("qo:", _prefix, "before every Redis key of queueops"),
    "RELEASE": Option(None, _release, "id of the deployed code; None: the start of the worker"),
    "LEASE": Option(30.0, _seconds(1, 86400), "s that a running job stays ours without a sign of life"),
    "POLL": Option(0.8, _seconds(0.05, 60), "s after which an idle worker looks for jobs that rang no bell"),
    "CHANGELOG_LENGTH": Option(10_000, _whole(0, 1_000_000), "events kept in the changelog; 0: off"),
    "LOCK_HISTORY": Option(50, _whole(0, 1_000), "newest events kept of each lock, semaphore and rate; 0: off"),
    "LOCK_HISTORY_KEPT": Option(3600.0, _seconds(60, 30 * 86400), "s that a lock's history outlives its newest event"),
    "QUARANTINE": Option({}, _quarantine, "the rule for jobs that declare none: after (failures), crashes"),
    "QUEUES": Option({}, _queues, "queue -> {max_age: s}: its service level"),
    "CONTROLS": Option({}, _controls, "function or queue:NAME -> list of middleware, for code that is not decorated"),
    "PAYLOAD_BYTES": Option(1_000_000, _whole(1_000, 100_000_000), "bytes of a quarantined job copied to SQL"),
    "SNAPSHOT_EVERY": Option(1.0, _seconds(0.2, 60), "s between two snapshots of the monitor"),
    "LOG_URL": Option("", _log_url, "where the log lines of a job are: an address with {job_id} in it"),
    "HISTORY_DAYS": Option(30, _whole(1, 3650), "days that interventions and what is over are kept"),
    "MINUTES_DAYS": Option(7, _whole(1, 366), "days that what each queue did in each minute is kept"),
    "HOURS_DAYS": Option(90, _whole(1, 3650), "days that what each queue did in each hour is kept"),
}


class Conf:
    """``QUEUEOPS`` with defaults. Attributes are the names in :data:`OPTIONS`."""

    PREFIX: str
    RELEASE: str | None
    LEASE: float
    POLL: float
    CHANGELOG_LENGTH: int
    LOCK_HISTORY: int
    LOCK_HISTORY_KEPT: float
    QUARANTINE: dict[str, int]
    QUEUES: dict[str, dict[str, Any]]
    CONTROLS: dict[str, Any]
    PAYLOAD_BYTES: int
    SNAPSHOT_EVERY: float
    LOG_URL: str
    HISTORY_DAYS: int
    MINUTES_DAYS: int
    HOURS_DAYS: int

    @property
    def keys(self) -> Keys:
        """The key builder for the prefix in force."""
        return Keys(self.PREFIX)

    def log_url(self, **names: str) -> str:
        """The address of a job's log lines, each name quoted; empty without the setting."""
        found = self.LOG_URL
        for name, value in names.items():
            found = found.replace(f"{{{name}}}", quote(value, safe="", errors="replace"))
        return found

    def max_age(self, queue: str) -> float:
        """Seconds that a job of ``queue`` may wait before the queue is called unhealthy."""
        return float(self.QUEUES.get(queue, {}).get("max_age", DEFAULT_MAX_AGE))

    def reload(self) -> None:
        """Forget what was read."""
        self.__dict__.clear()

    def problems(self) -> list[str]:
        """Everything wrong with ``QUEUEOPS``, each with its fix; for the system checks."""
        try:
            given = _given()
        except ImproperlyConfigured as error:
            return [str(error)]
        found = [_unknown(name) for name in given if name not in OPTIONS]
        for name in OPTIONS:
            try:
                _value(name, given)
            except ImproperlyConfigured as error:
                found.append(str(error))
        return found

    def __getattr__(self, name: str) -> Any:
        if name not in OPTIONS:
            raise AttributeError(f"queueops has no setting {name}; it has {', '.join(OPTIONS)}")
        given = _given()
        for key in given:
            if key not in OPTIONS:
                raise ImproperlyConfigured(_unknown(key))
        value = self.__dict__[name] = _value(name, given)
        return value


def _given() -> dict[str, Any]:
    given = getattr(settings, "QUEUEOPS", {})
    if not isinstance(given, dict):
        raise ImproperlyConfigured(f"QUEUEOPS must be a dict, not {type(given).__name__}: QUEUEOPS = {{...}}")
    return given


def _unknown(name: object) -> str:
    near = get_close_matches(str(name).upper(), OPTIONS, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(OPTIONS)}"
    return f"QUEUEOPS has no option {name!r}: {hint}"


def _value(name: str, given: dict[str, Any]) -> Any:
    option = OPTIONS[name]
    value = given.get(name, option.default)
    try:
        return option.check(value)
    except BadValue as error:
        raise ImproperlyConfigured(f"QUEUEOPS[{name!r}] {error}; it is {value!r:.100}") from None


conf = Conf()


def _changed(*, setting: str, **kwargs: Any) -> None:
    if setting == "QUEUEOPS":
        conf.reload()


setting_changed.connect(_changed, dispatch_uid="queueops.conf")
