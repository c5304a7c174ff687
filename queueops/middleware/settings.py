"""``QUEUEOPS["CONTROLS"]``: declarations for code that cannot be decorated, and for whole queues."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from queueops.middleware.base import Middleware
from queueops.middleware.checking import check_list, controls_of
from queueops.middleware.claims import Control
from queueops.middleware.definitions import Definitions
from queueops.middleware.errors import DeclarationError

QUEUE = "queue:"


@dataclass(frozen=True, slots=True)
class Entries:
    """The setting, checked: key → middlewares."""

    by_key: dict[str, tuple[Middleware, ...]] = field(default_factory=dict)

    def of(self, name: str, func_name: str, queue: str) -> tuple[Middleware, ...]:
        """What applies to a function (under its own name, or the path it was enqueued by) on a queue."""
        if not self.by_key:
            return ()
        own = self.by_key.get(name) or self.by_key.get(func_name, ())
        return (*own, *self.by_key.get(QUEUE + queue, ()))


def read(source: Any, definitions: Definitions) -> Entries:
    """Check the setting and record its controls. Raises ``ImproperlyConfigured``."""
    if not isinstance(source, dict):
        raise ImproperlyConfigured(f'QUEUEOPS["CONTROLS"] must be a dict, not {source!r}')
    entries: dict[str, tuple[Middleware, ...]] = {}
    for stale in [place for place in definitions.places() if place.startswith("QUEUEOPS[")]:
        definitions.drop(stale)
    for key, value in source.items():
        where = f'QUEUEOPS["CONTROLS"][{key!r}]'
        try:
            entries[_key(where, key)] = middlewares = _list(where, value)
            definitions.put(where, where, _controls(key, middlewares))
        except DeclarationError as problem:
            text = str(problem)
            raise ImproperlyConfigured(text if where in text else f"{where}: {text}") from problem
    return Entries(entries)


def _key(where: str, key: Any) -> str:
    if isinstance(key, str) and (key[len(QUEUE) :] if key.startswith(QUEUE) else "." in key.strip(".")):
        return key
    raise DeclarationError(f'{where}: a key is a dotted function name, "app.tasks.f", or a queue, "queue:low"')


def _list(where: str, value: Any) -> tuple[Middleware, ...]:
    if not isinstance(value, (list, tuple)):
        raise DeclarationError(f"{where} must be a list of middleware, like [WithoutOverlapping()], not {value!r}")
    return check_list(where, value)


def _controls(key: str, middlewares: tuple[Middleware, ...]) -> list[Control]:
    # A nameless lock on a queue is named by each function that comes: not known before.
    if key.startswith(QUEUE):
        return [c for m in middlewares if getattr(m, "name", "") is not None for c in controls_of(m, "")]
    return [control for m in middlewares for control in controls_of(m, key)]
