"""One answer for all viewers who ask for the same live part within a second: many viewers cost what a few cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language

from dashboard import access
from dashboard.selectors.remembered import Remembered

AGE = "QO-Data-Age"
RIGHTS = tuple(dict.fromkeys(access.VERBS.values()))
"""Permissions that change what a page shows."""


@dataclass(frozen=True, slots=True)
class _Part:
    answer: HttpResponse
    at: float

    def again(self) -> HttpResponse:
        """A copy, whose data are older by now."""
        made = HttpResponse(self.answer.content, status=self.answer.status_code, headers=dict(self.answer.headers))
        if AGE in made:
            made[AGE] = str(int(made[AGE]) + int((time.monotonic() - self.at) * 1000))
        return made


_parts: Remembered[_Part] = Remembered(seconds=1.0, most=100)


def is_part(request: HttpRequest) -> bool:
    """Whether htmx asks for the live part alone."""
    return request.headers.get("HX-Request") == "true" and request.headers.get("HX-Target") == "live"


def shared(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A live part depends on the address, the language and what the viewer may do; never on who it is."""

    @wraps(view)
    def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not is_part(request):
            return view(request, *args, **kwargs)
        rights = tuple(access.may(request.user, name) for name in RIGHTS)
        wanted = (request.get_full_path(), get_language(), rights)
        return _parts.get(wanted, lambda: _Part(view(request, *args, **kwargs), time.monotonic())).again()

    return asked
