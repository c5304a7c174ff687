"""One name for failures of the same cause: exception type + function + innermost frame of non-library code, hashed."""

from __future__ import annotations

import hashlib
import sysconfig
from types import TracebackType

_LIBRARY = tuple({path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_path(name))})


def fingerprint(kind: type[BaseException], function: str, traceback: TracebackType | None) -> str:
    """16 hexadecimal digits. Line numbers and messages are left out: they differ between releases and jobs."""
    where = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        own = traceback.tb_frame.f_globals.get("__name__", "")
        if not code.co_filename.startswith(_LIBRARY) and not own.startswith(("queueops.rq", "rq.")):
            where = f"{own}:{code.co_qualname if hasattr(code, 'co_qualname') else code.co_name}"
        traceback = traceback.tb_next
    text = "\0".join((f"{kind.__module__}.{kind.__qualname__}", function, where))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
