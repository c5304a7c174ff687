"""System checks: each says what is wrong, what it would lead to, and the line that fixes it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.utils.module_loading import import_string

from queueops.conf import conf

CLASSES = {
    "QUEUE_CLASS": ("queueops.rq.Queue", "jobs are enqueued without their controls"),
    "JOB_CLASS": ("queueops.rq.Job", "jobs lose their controls when they are loaded"),
    "WORKER_CLASS": ("queueops.rq.Worker", "workers run jobs without leases and limits"),
}


@register("queueops")
def check_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """``QUEUEOPS`` has known keys and right values."""
    return [Error(problem, id="queueops.E001") for problem in conf.problems()]


@register("queueops")
def check_classes(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """django-rq uses the classes of queueops."""
    rq = getattr(settings, "RQ", {})
    if not isinstance(rq, dict):
        return [Error("RQ must be a dict.", hint=_rq_hint(), id="queueops.E002")]
    found: list[CheckMessage] = []
    for key, (path, harm) in CLASSES.items():
        found += _check_class(f"RQ[{key!r}]", rq.get(key), path, harm)
    for name, options in _queues().items():
        if isinstance(options, dict) and "QUEUE_CLASS" in options:
            path, harm = CLASSES["QUEUE_CLASS"]
            found += _check_class(f"RQ_QUEUES[{name!r}]['QUEUE_CLASS']", options["QUEUE_CLASS"], path, harm)
    return found


def _check_class(where: str, given: Any, path: str, harm: str) -> list[CheckMessage]:
    if given is None:
        return [Warning(f"{where} is not set: {harm}.", hint=_rq_hint(), id="queueops.W001")]
    if given == path:
        return []
    try:
        chosen = import_string(given) if isinstance(given, str) else given
    except ImportError as error:
        return [Error(f"{where} cannot be imported: {error}", hint=_rq_hint(), id="queueops.E003")]
    if isinstance(chosen, type) and issubclass(chosen, import_string(path)):
        return []
    return [Warning(f"{where} is {given!r}, no {path}: {harm}.", hint=_rq_hint(), id="queueops.W002")]


@register("queueops")
def check_queues(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The queues of ``RQ_QUEUES`` can be named, and those of ``QUEUEOPS["QUEUES"]`` exist."""
    queues = _queues()
    if not queues:
        hint = 'For instance RQ_QUEUES = {"default": {"URL": "redis://localhost:6379/0"}}.'
        return [Warning("RQ_QUEUES names no queue: there is nothing to show.", hint=hint, id="queueops.W003")]
    found: list[CheckMessage] = []
    if any("\x1f" in name for name in queues):
        found.append(Error("The name of a queue contains the control character 0x1f.", id="queueops.E004"))
    if not conf.problems():
        for name in conf.QUEUES:
            if name not in queues:
                message = f"QUEUEOPS['QUEUES'] names {name!r}, which RQ_QUEUES does not have."
                found.append(Warning(message, hint=f"RQ_QUEUES has {', '.join(queues)}.", id="queueops.W004"))
    return found


@register("queueops")
def check_sqlite(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """SQLite is set up for several processes that write."""
    options = settings.DATABASES.get("default", {})
    if not str(options.get("ENGINE", "")).endswith("sqlite3"):
        return []
    given = options.get("OPTIONS", {})
    found: list[CheckMessage] = []
    if "wal" not in str(given.get("init_command", "")).lower():
        message = "SQLite is not in WAL mode: readers and writers block each other."
        hint = "DATABASES['default']['OPTIONS']['init_command'] = 'PRAGMA journal_mode=WAL;'"
        found.append(Warning(message, hint=hint, id="queueops.W005"))
    if str(given.get("transaction_mode") or "").upper() != "IMMEDIATE":
        message = "SQLite transactions start deferred: two writers fail with 'database is locked' without waiting."
        hint = "DATABASES['default']['OPTIONS']['transaction_mode'] = 'IMMEDIATE'"
        found.append(Warning(message, hint=hint, id="queueops.W006"))
    return found


def _queues() -> dict[str, Any]:
    queues = getattr(settings, "RQ_QUEUES", {})
    return queues if isinstance(queues, dict) else {}


def _rq_hint() -> str:
    lines = ", ".join(f'"{key}": "{path}"' for key, (path, _) in CLASSES.items())
    return f"RQ = {{{lines}}}"
