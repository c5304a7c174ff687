"""One name for failures of the same cause: exception type + function + innermost frame of non-library code, hashed."""

from __future__ import annotations

import hashlib
import sysconfig
from types import TracebackType

_PLACES = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_LIBRARY = tuple({place for place in _PLACES if place})


def fingerprint(kind: type | None, function: str, traceback: TracebackType | None) -> str:
    """16 hexadecimal digits. Line numbers and messages are left out: they differ between releases and jobs."""
    where = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        own = traceback.tb_frame.f_globals.get("__name__", "")
        if not code.co_filename.startswith(_LIBRARY) and not own.startswith(("queueops.rq", "rq.")):
            where = f"{own}:{code.co_qualname if hasattr(code, 'co_qualname') else code.co_name}"
        traceback = traceback.tb_next
    text = "\0".join((_name(kind) if kind else "", function, where))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _name(kind: type) -> str:
    try:
        return f"{kind.__module__}.{kind.__qualname__}"
    except BaseException:  # a metaclass of its own
        return str(type.__dict__["__qualname__"].__get__(kind))
