"""What the monitor found, in the viewer's language; a text that is not known here is shown as the monitor said it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import wording
from dashboard.selectors.snapshots import Need, Restraint, State
from queueops.rdb.keys import SEP

SHOWN = 3
"""Needs told in the sentence; more are counted."""
_LABEL = re.compile(r"^(?:Degraded|Unhealthy|Unknown):\s+")


@dataclass(frozen=True, slots=True)
class InForce:
    """One item of the banner. ``verb`` lifts it (empty: not from here); ``glyph`` shows its kind."""

    item: Restraint
    glyph: str
    target: str
    word: str
    href: str
    verb: str
    kind: str
    name: str


def _page(name: str, /, **query: str) -> str:
    """A page's address, under whatever prefix the project is mounted."""
    return reverse(f"dashboard:{name}") + (f"?{urlencode(query)}" if query else "")


def restraint(item: Restraint) -> InForce:
    """A pause, limit, isolation or suspension as the banner shows it."""
    prefix, _colon, name = item.target.partition(":")
    if item.kind == "pause" and item.target == "all":
        return InForce(item, "pause", _("Everything"), _("paused"), _page("queues"), "resume", "all", "")
    if item.kind == "pause":
        kind = "queue" if prefix == "q" else "function"
        href = _page("queues", name=name) if kind == "queue" else ""
        return InForce(item, "pause", wording.named(name), _("paused"), href, "resume", kind, name)
    if item.kind == "limit":
        href = _page("locks", control=item.target)
        said = re.search(r"limit (\d+)", item.reason)
        word = _("limited to %(n)s") % {"n": said[1]} if said else _("limited")
        return InForce(item, "limit", wording.named(name), word, href, "limit", "limit", item.target)
    if item.kind == "isolate":
        kind = {"f": "function", "e": "error", "k": "key"}.get(prefix, "function")
        shown = name.replace(SEP, " ") if kind == "key" else name
        return InForce(
            item, "quarantined", wording.named(shown), _("isolated"), _page("quarantine"), "unisolate", kind, name
        )
    return InForce(item, "pause", _("All workers"), _("suspended with RQ's own command"), _page("workers"), "", "", "")


def health(state: State) -> str:
    """One sentence after the level's word."""
    if state.down:
        names = ", ".join(wording.named(down.alias) for down in state.down)
        return _("Redis does not answer (%(names)s). What it held is unknown.") % {"names": names}
    if not state.snapshots:
        return _("There is no Redis server in RQ_QUEUES.")
    if not state.reported:
        return _("The monitor does not report. The figures were read just now; nobody watches them.")
    late = [row for row in state.queues if (row.times_target or 0) > 1 and not row.paused]
    if late:
        late.sort(key=lambda row: -(row.times_target or 0))
        parts = [
            _("%(queue)s is %(age)s behind") % {"queue": wording.named(row.name), "age": wording.age(row.oldest_age)}
            for row in late[:2]
        ]
        if len(late) > 2:
            parts.append(
                ngettext("%(n)s more queue is late", "%(n)s more queues are late", len(late) - 2) % {"n": len(late) - 2}
            )
        return "; ".join(parts) + "."
    paused = [row for row in state.queues if row.paused and row.waiting]
    needs = [item for item in state.needs if item.kind != "failed"]
    if state.level == "warn" and paused and not needs:
        names = ", ".join(wording.named(row.name) for row in paused[:3])
        return _("On time, except what is paused: %(names)s.") % {"names": names}
    if state.level in ("warn", "bad") and needs:
        more = len(needs) - SHOWN
        rest = (
            [ngettext("%(n)s more needs a person.", "%(n)s more need a person.", more) % {"n": more}]
            if more > 0
            else []
        )
        return " ".join([*(said(item.text) for item in needs[:SHOWN]), *rest])
    if state.level == "ok":
        return _("All queues are on time.")
    return _LABEL.sub("", state.health) or _("There is no data yet.")


def need(item: Need) -> Need:
    """One line of "needs a person", translated where its pattern is known."""
    # the monitor does not know where the pages are mounted
    href = reverse("dashboard:overview") + item.href.removeprefix("/") if item.href else ""
    return Need(item.level, item.kind, said(item.text), href)


def said(text: str) -> str:
    """A sentence of the monitor in the viewer's language."""
    for pattern, build in _PATTERNS:
        match = pattern.fullmatch(text)
        if match:
            return build(match.groupdict())
    return text


def _duration(text: str) -> str:
    number, _space, unit = text.partition(" ")
    units = {"s": _("s"), "min": _("min"), "h": _("h"), "days": _("days")}
    return f"{number} {units.get(unit, unit)}"


def _late(g: dict[str, str]) -> str:
    text = _("%(queue)s: the oldest job has waited %(age)s, %(times)s × its target.")
    if g["nobody"]:
        text = _("%(queue)s: the oldest job has waited %(age)s, %(times)s × its target, and no worker serves it.")
    return text % {"queue": g["queue"], "age": _duration(g["age"]), "times": g["times"]}


def _jobs(text: str) -> int:
    return int(text.replace(",", ""))


def _quarantine(g: dict[str, str]) -> str:
    text = ngettext(
        "%(n)s job is in quarantine on %(queue)s.", "%(n)s jobs are in quarantine on %(queue)s.", _jobs(g["n"])
    )
    return text % g


def _failed(g: dict[str, str]) -> str:
    text = ngettext(
        "%(n)s job has failed for good on %(queue)s.", "%(n)s jobs have failed for good on %(queue)s.", _jobs(g["n"])
    )
    return text % g


def _growing(g: dict[str, str]) -> str:
    if g["rate"] is None:
        return _("%(queue)s will not clear: nothing completes.") % g
    return _("%(queue)s will not clear: it grows by %(rate)s/min.") % g


def _ownerless(g: dict[str, str]) -> str:
    text = ngettext(
        "A hold of %(name)s has no living job behind it, and %(n)s job waits for it.",
        "A hold of %(name)s has no living job behind it, and %(n)s jobs wait for it.",
        _jobs(g["n"]),
    )
    return text % g


def _nobody(g: dict[str, str]) -> str:
    text = ngettext("%(n)s job waits and no worker is alive.", "%(n)s jobs wait and no worker is alive.", _jobs(g["n"]))
    return text % g


_LATE = r"(?P<queue>.+): the oldest job has waited (?P<age>\d+ \w+), (?P<times>[\d.]+) × its target"
_Build = Callable[[dict[str, str]], str]
_PATTERNS: tuple[tuple[re.Pattern[str], _Build], ...] = (
    (re.compile(_LATE + r"(?P<nobody> and no worker serves it)?\."), _late),
    (re.compile(r"(?P<n>[\d,]+) jobs? (?:is|are) in quarantine on (?P<queue>.+)\."), _quarantine),
    (re.compile(r"(?P<n>[\d,]+) jobs? (?:has|have) failed for good on (?P<queue>.+)\."), _failed),
    (
        re.compile(r"Worker (?P<name>.+) has given no sign of life for (?P<age>\d+ \w+)\."),
        lambda g: (
            _("Worker %(name)s has given no sign of life for %(age)s.")
            % {"name": wording.short(g["name"]), "age": _duration(g["age"])}
        ),
    ),
    (re.compile(r"(?P<n>[\d,]+) more workers are silent\."), lambda g: _("%(n)s more workers are silent.") % g),
    (re.compile(r"(?P<queue>.+) will not clear: (?:nothing completes|it grows by (?P<rate>[\d.]+)/min)\."), _growing),
    (re.compile(r"(?P<n>[\d,]+) jobs? waits? and no worker is alive\."), _nobody),
    (
        re.compile(r"A hold of (?P<name>.+) has no living job behind it, and (?P<n>[\d,]+) jobs? waits? for it\."),
        _ownerless,
    ),
    (
        re.compile(r"(?P<n>[\d,]+) more locks are held without a living job\."),
        lambda g: _("%(n)s more locks are held without a living job.") % g,
    ),
    (re.compile(r"(?P<name>.+) is stopped: its limit is 0\."), lambda g: _("%(name)s is stopped: its limit is 0.") % g),
    (
        re.compile(r"Redis is full: .+"),
        lambda g: _(
            "Redis is full: it takes no writes, so no job is accepted or started. Raise its maxmemory, or free memory."
        ),
    ),
    (
        re.compile(r"Two live releases declare a control differently\."),
        lambda g: _("Two live releases declare a control differently."),
    ),
    (
        re.compile(r"The monitor's duty (?P<name>.+) has not run for (?P<age>\d+ \w+)\."),
        lambda g: _("The monitor's duty %(name)s has not run for %(age)s.") % {**g, "age": _duration(g["age"])},
    ),
)
