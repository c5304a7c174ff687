"""Binding a call's arguments to names, so that positions, keywords and defaults agree."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

_PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Signature:
    """The parameters of one function, ready to bind calls quickly."""

    __slots__ = ("_defaults", "_positional", "_simple", "inspected", "names", "open")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.inspected: inspect.Signature | None
        try:
            self.inspected = inspect.signature(function)
        except (TypeError, ValueError):
            # Some built-in functions do not tell their parameters.
            self.inspected = None
        parameters = self.inspected.parameters if self.inspected else {}
        self.names = frozenset(parameters)
        self.open = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        self._simple = self.inspected is not None and all(p.kind in _PLAIN for p in parameters.values())
        self._positional = tuple(n for n, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD)
        self._defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Name → value of every argument. Those caught by ``**kwargs`` are found by their own name as well.

        Raises TypeError when the call does not fit the function.
        """
        if self._simple and len(args) <= len(self._positional):
            bound = self._defaults | dict(zip(self._positional, args, strict=False))
            bound.update(kwargs)
            whole = len(bound) == len(self.names) and self.names.issuperset(kwargs)
            if whole and kwargs.keys().isdisjoint(self._positional[: len(args)]):
                return bound
        if self.inspected is None:
            raise TypeError("its parameters cannot be read")
        exact = self.inspected.bind(*args, **kwargs)
        exact.apply_defaults()
        caught: dict[str, Any] = {}
        for parameter in self.inspected.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                caught = exact.arguments[parameter.name]
        return {**caught, **exact.arguments}
