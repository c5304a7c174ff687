"""Which function a job runs: its dotted name, the code behind a path, and what methods and partials wrap."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import logging
import sys
import time
import types
from collections.abc import Callable, Mapping
from typing import Any

from queueops.middleware.errors import DeclarationError

logger = logging.getLogger("queueops.middleware")

MAX_NAME = 200
_FORGET_AFTER = 10.0
_MISSING_CAP = 1000
_missing: dict[str, float] = {}

Bound = tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]


def unwrap(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
    """The plain function behind a method, partial or callable object, with what these add to the arguments."""
    for _ in range(20):
        if isinstance(func, functools.partial):
            func, args, kwargs = func.func, (*func.args, *args), {**func.keywords, **kwargs}
        elif inspect.ismethod(func):
            func, args = func.__func__, (func.__self__, *args)
        elif isinstance(func, types.MethodWrapperType) and func.__name__ == "__call__":
            # What RQ makes of a callable object: the bound ``__call__`` of a partial or of C code.
            func = func.__self__
        elif inspect.isroutine(func) or inspect.isclass(func):
            break
        else:
            func, args = type(func).__call__, (func, *args)
    return func, args, kwargs


def own_name(function: Callable[..., Any]) -> str:
    """``module.qualname`` of a function."""
    module = getattr(function, "__module__", None) or "builtins"
    return f"{module}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def name_of(func_name: str, function: Callable[..., Any]) -> str:
    """The name under which a job's function is controlled, counted and paused.

    The function's own name where that leads back to it, so that an alias shares its locks; otherwise (a decorator
    that hides it, a nested function) the name that the job was given.
    """
    own = own_name(function)
    found = loaded(own)
    if found is not None and unwrap(found, (), {})[0] is function:
        return clean(own)
    return clean(func_name if "." in func_name else own)


def clean(name: str) -> str:
    """A name safe as a field of a key: printable and at most 200 bytes."""
    if not name.isprintable():
        name = "".join(c if c.isprintable() else "\ufffd" for c in name)
    raw = name.encode()
    if len(raw) <= MAX_NAME:
        return name
    digest = hashlib.sha256(raw).hexdigest()[:16]
    return raw[: MAX_NAME - 17].decode("utf-8", "ignore") + "#" + digest


def loaded(path: str) -> Any:
    """What a dotted path means among the modules already imported, or None."""
    module, _, rest = path.rpartition(".")
    names = [rest]
    while module:
        found: Any = sys.modules.get(module)
        if found is not None:
            for name in names:
                found = getattr(found, name, None)
            return found
        module, _, last = module.rpartition(".")
        names.insert(0, last)
    return None


def find(path: str) -> Callable[..., Any] | None:
    """The function of a dotted path; its module is imported if need be. None where this process cannot.

    A producer may lack the code of its jobs (a thin web process): that is no error here. A failed import is not
    tried again for ten seconds.
    """
    found = loaded(path)
    if found is None and not _known_missing(path):
        found = _imported(path)
        if found is None:
            if len(_missing) >= _MISSING_CAP:
                _missing.clear()
            _missing[path] = time.monotonic()
    return found if callable(found) else None


def _known_missing(path: str) -> bool:
    since = _missing.get(path)
    return since is not None and time.monotonic() - since < _FORGET_AFTER


def _imported(path: str) -> Any:
    module = path.rpartition(".")[0]
    while module:
        try:
            importlib.import_module(module)
        except DeclarationError:
            raise
        except ImportError:
            module = module.rpartition(".")[0]
            continue
        except Exception:
            # The worker will meet the same fault and report it on the job.
            logger.warning("the module of %s cannot be imported here", path, exc_info=True)
            return None
        return loaded(path)
    return None
