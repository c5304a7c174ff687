"""Finds the verbs: one module each in ``queueops/management/verbs/``."""

from __future__ import annotations

import importlib
import pkgutil
from argparse import Namespace
from typing import Any

from queueops.management import verbs
from queueops.management.base import BaseVerb, VerbError, one_line


class BrokenVerb(BaseVerb):
    """Stands for a module that cannot be imported, so that the other verbs still work."""

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name  # type: ignore[misc]
        self.error = one_line(f"{type(error).__name__}: {error}")
        self.help = f"cannot be loaded: {self.error}"  # type: ignore[misc]

    def handle(self, options: Namespace) -> dict[str, Any]:
        raise VerbError(f"the verb {self.name} cannot be loaded: {self.error}")


def load() -> dict[str, BaseVerb]:
    """All verbs by name, in alphabetical order."""
    found: dict[str, BaseVerb] = {}
    for module in pkgutil.iter_modules(verbs.__path__):
        if module.name.startswith("_"):
            continue
        try:
            verb: BaseVerb = importlib.import_module(f"{verbs.__name__}.{module.name}").Verb()
        except Exception as error:  # a broken verb must not take the others down
            verb = BrokenVerb(module.name, error)
        found[verb.name] = verb
    return dict(sorted(found.items()))
