"""System checks: each says what is wrong, what it would lead to, and the line that fixes it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.checks import CheckMessage, Error, Warning, register
from django.shortcuts import resolve_url
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template
from django.urls import NoReverseMatch, Resolver404, resolve, reverse
from django.utils.module_loading import import_string
from redis.connection import parse_url

from queueops.conf import conf

CLASSES = {
    "QUEUE_CLASS": ("queueops.rq.Queue", "jobs are enqueued without their controls"),
    "JOB_CLASS": ("queueops.rq.Job", "jobs lose their controls when they are loaded"),
    "WORKER_CLASS": ("queueops.rq.Worker", "workers run jobs without leases and limits"),
}

URLS = {
    "dashboard:overview": 'path("", include("dashboard.urls"))',
    "login": 'path("login/", LoginView.as_view(), name="login")',
    "logout": 'path("logout/", LogoutView.as_view(), name="logout")',
    "set_language": 'path("i18n/", include("django.conf.urls.i18n"))',
    "admin:index": 'path("admin/", admin.site.urls)',
}
"""Addresses that the pages lead to, and the line of ``urls.py`` that makes each."""
SCHEMES = ("redis://", "rediss://", "unix://")
PROCESSORS = ("request", "i18n")


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
    found += _addresses_of_redis(queues)
    if not conf.problems():
        found += _declared_for(queues)
        for name in conf.QUEUES:
            if name not in queues:
                message = f"QUEUEOPS['QUEUES'] names {name!r}, which RQ_QUEUES does not have."
                found.append(Warning(message, hint=f"RQ_QUEUES has {', '.join(queues)}.", id="queueops.W004"))
    return found


def _addresses_of_redis(queues: dict[str, Any]) -> list[CheckMessage]:
    """Every address can be read. What cannot is told without its text: a password may be in it."""
    found: list[CheckMessage] = []
    for name, options in queues.items():
        url = options.get("URL") if isinstance(options, dict) else None
        if not url:
            continue
        where, hint = f"RQ_QUEUES[{name!r}]['URL']", "For instance redis://localhost:6379/0."
        if not str(url).startswith(SCHEMES):
            scheme = str(url).partition("://")[0][:20] if "://" in str(url) else "no scheme"
            message = f"{where} starts with {scheme!r}: nothing can connect to it."
            hint = f"A URL starts with {', '.join(SCHEMES[:-1])} or {SCHEMES[-1]}. {hint}"
            found.append(Error(message, hint=hint, id="queueops.E005"))
            continue
        try:
            parse_url(str(url))
        except (ValueError, TypeError):
            hint = f"A password with special characters is written percent-encoded (%2F for /). {hint}"
            found.append(Error(f"{where} cannot be read as an address of Redis.", hint=hint, id="queueops.E005"))
    return found


def _declared_for(queues: dict[str, Any]) -> list[CheckMessage]:
    """What ``CONTROLS`` is about exists: a limit on a misspelt name limits nothing."""
    found: list[CheckMessage] = []
    for target in conf.CONTROLS:
        where = f"QUEUEOPS['CONTROLS'] names {target!r}"
        if target.startswith("queue:"):
            if target[6:] not in queues:
                message = f"{where}, a queue that RQ_QUEUES does not have."
                found.append(Warning(message, hint=_close(target[6:], queues), id="queueops.W008"))
            continue
        lacking = _lacking(target)
        if lacking:
            said, name, known = lacking
            found.append(Warning(f"{where}, but {said}.", hint=_close(name, known), id="queueops.W009"))
    return found


def _lacking(target: str) -> tuple[str, str, Iterable[str]] | None:
    """What a dotted name lacks: in words, the part that is wrong, and what is there instead."""
    parts = target.split(".")
    holder: Any = None
    for at, part in enumerate(parts):
        path = ".".join(parts[:at])
        if holder is not None and hasattr(holder, part) and not isinstance(getattr(holder, part), ModuleType):
            holder = getattr(holder, part)
            continue
        if holder is None or hasattr(holder, "__path__"):
            name = ".".join(parts[: at + 1])
            try:
                holder = import_module(name)
                continue
            except ModuleNotFoundError as error:
                if holder is None or error.name != name:
                    return None  # code that only the workers have
            except Exception:  # whatever a module does when it is imported: not a matter of names
                return None
        known = {*vars(holder), *(each.name for each in iter_modules(getattr(holder, "__path__", None) or []))}
        kind = "module" if isinstance(holder, ModuleType) else "class"
        return f"the {kind} {path} has no {part}", part, known
    return None


def _close(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, [each for each in known if not each.startswith("_")], 3)
    return f"Close: {', '.join(near)}." if near else "Correct the name, or take the entry out."


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


@register("queueops_pages")  # a tag of its own: what is wrong with the pages must not stop a worker
def check_pages(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Where the dashboard is installed: its addresses, templates, static files and login page exist."""
    if not apps.is_installed("dashboard"):
        return []
    lacking = [*_addresses(), *_templates(), *_parts()]
    return [Warning(text, hint=hint, id="queueops.W007") for text, hint in lacking]


def _addresses() -> list[tuple[str, str]]:
    found = []
    for name, line in URLS.items():
        if name == "login" and settings.LOGIN_URL != "login":
            continue
        try:
            reverse(name)
        except NoReverseMatch:
            found.append((f"The pages need an address named {name!r}, which urls.py lacks.", f"urlpatterns: {line}"))
    try:
        login = resolve_url(settings.LOGIN_URL)
        if settings.LOGIN_URL == "/accounts/login/" and not _routed(login):
            raise NoReverseMatch
    except NoReverseMatch:
        if settings.LOGIN_URL != "login":  # that one is told above
            text = f"LOGIN_URL is {settings.LOGIN_URL!r}, which no address answers: nobody can log in to the pages."
            found.append((text, f'LOGIN_URL = "login" and urlpatterns: {URLS["login"]}'))
    return found


def _routed(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


def _templates() -> list[tuple[str, str]]:
    try:
        get_template("dashboard/base.html")
    except TemplateDoesNotExist:
        hint = 'TEMPLATES[0]["DIRS"] += [the "templates" folder beside the package "dashboard"]'
        return [("The templates of the pages are not found.", hint)]
    except TemplateSyntaxError as error:
        return [(f"The templates of the pages cannot be read: {error}", "See docs/adopting.md, The pages.")]
    found = []
    given = [name for engine in settings.TEMPLATES for name in engine.get("OPTIONS", {}).get("context_processors", ())]
    for name in PROCESSORS:
        path = f"django.template.context_processors.{name}"
        if path not in given:
            found.append((f"The context processor {path} is missing.", "TEMPLATES[0]['OPTIONS']['context_processors']"))
    return found


def _parts() -> list[tuple[str, str]]:
    found = []
    for app in ("channels", "django_htmx", "django.contrib.staticfiles"):
        if not apps.is_installed(app):
            found.append((f"The pages need the app {app}.", f'INSTALLED_APPS += ["{app}"]'))
    for path in ("django_htmx.middleware.HtmxMiddleware", "django.middleware.locale.LocaleMiddleware"):
        if path not in settings.MIDDLEWARE:
            found.append((f"The pages need {path}.", f'MIDDLEWARE: "{path}"; its place is in docs/adopting.md.'))
    if apps.is_installed("django.contrib.staticfiles") and not finders.find("dashboard/app.css"):
        hint = 'STATICFILES_DIRS += [the "static" folder beside the package "dashboard"]'
        found.append(("The static files of the pages are not found.", hint))
    return found


def _queues() -> dict[str, Any]:
    queues = getattr(settings, "RQ_QUEUES", {})
    return queues if isinstance(queues, dict) else {}


def _rq_hint() -> str:
    lines = ", ".join(f'"{key}": "{path}"' for key, (path, _) in CLASSES.items())
    return f"RQ = {{{lines}}}"
