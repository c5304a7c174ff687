"""The filter of a list of jobs, from the address: every part of it can be linked, kept and shared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from dashboard.actions.forms import UNITS
from dashboard.selectors import job_lists as lists
from queueops.telemetry.job_pages import JobFilter

TEXTS = ("function", "error", "text", "tag")
AGES = ("older", "younger")
LONGEST = 500
"""Characters of a filter."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for; ``wrong`` says what of it could not be understood."""

    tab: str
    wanted: JobFilter
    given: dict[str, str]
    wrong: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        """Whether a filter beside the queue is set."""
        return self.wanted.active


def of(request: HttpRequest, default: str = "queued") -> Asked:
    """The filter of this page's address."""
    return read(request.GET, default)


def read(query: QueryDict, default: str = "queued") -> Asked:
    """The filter in ``query``; an empty ``queue`` means any, but for ``empty`` beside it: it is a name too."""
    tab = query.get("state", "")
    tab = tab if tab in lists.TABS else default
    given = {name: text for name in (*TEXTS, *AGES) if (text := query.get(name, "").strip()[:LONGEST])}
    wrong: list[str] = []
    options: dict[str, Any] = {name: given[name] for name in TEXTS if name in given}
    for name in AGES:
        if name in given:
            age = re.fullmatch(r"([0-9]{1,7}) ?([smhd])", given[name])
            if age:
                options[name] = float(int(age[1]) * UNITS[age[2]])
            else:
                wrong.append(_("“%(text)s” is no age: write 90s, 30m, 2h or 1d.") % {"text": given[name]})
    queue = query.get("queue") or ("" if "empty" in query else None)
    if text := query.get("q", "").strip()[:LONGEST]:
        options["any"] = text
    return Asked(tab, JobFilter(lists.state_of(tab), queue, **options), given, tuple(wrong))
