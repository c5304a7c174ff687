"""Tags of the pages. Text goes through format_html, so hostile names stay text."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from django import template
from django.urls import get_script_prefix, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard import access, drains, masking, states, wording
from dashboard.selectors.snapshots import QueueRow
from queueops.diagnosis.wording import reason_words
from queueops.rdb.keys import split_instance

register = template.Library()

_PATH = "/~:@!$&'()*+,;="
"""Characters that a path keeps, as ``reverse`` does."""
COLUMNS = ("queued", "parked", "running", "scheduled", "deferred", "failed", "quarantined")

register.filter("count", wording.count)
register.filter("rate", wording.rate)
register.filter("signed", wording.signed)
register.filter("times", wording.times)
register.filter("named", wording.named)
register.filter("visible", wording.visible)
register.filter("short", wording.short)
register.filter("size", wording.size)
register.filter("plain_age", wording.age)
register.filter("fine_age", wording.fine)


@register.filter
def masked(value: Any) -> str:
    """Text of unknown origin: secrets masked, control characters written out, newlines kept."""
    return "\n".join(wording.visible(line) for line in masking.mask_text(str(value)).split("\n"))


@register.filter
def masked_line(value: Any) -> str:
    """As ``masked``, on one line."""
    return wording.visible(masking.mask_text(str(value)))


@register.filter
def module(function: str) -> str:
    """``shop.jobs.`` of ``shop.jobs.print_label``."""
    head, dot, _tail = function.rpartition(".")
    return head + dot


@register.filter
def leaf(function: str) -> str:
    """``print_label`` of ``shop.jobs.print_label``."""
    return function.rpartition(".")[2]


@register.simple_tag
def glyph(name: str, css: str = "g") -> SafeString:
    return format_html('<svg class="{}" aria-hidden="true"><use href="#g-{}"/></svg>', css, name)


@register.simple_tag
def state(name: str, word: str = "") -> SafeString:
    """A state in text: glyph, colour and word."""
    look = states.state(name)
    return format_html('<span class="st {}">{}{}</span>', look.css, glyph(look.glyph), word or look.word)


@register.simple_tag
def chip(name: str, word: str = "") -> SafeString:
    """A state in a page's head."""
    look = states.state(name)
    return format_html('<span class="chip {}">{}{}</span>', look.css, glyph(look.glyph), word or look.word)


@register.simple_tag
def event(name: str) -> SafeString:
    """A changelog event: ``lock.`` muted, ``acquired`` in ink."""
    css, symbol = states.event(name)
    head, dot, tail = name.rpartition(".")
    return format_html(
        '<span class="st {}">{}<span class="ev"><i>{}</i>{}</span></span>',
        css, glyph(symbol), wording.visible(head + dot), wording.visible(tail),
    )  # fmt: skip


@register.simple_tag
def age(seconds: float | None, target: float | None = None, empty: str = wording.NONE, most: int = 4) -> SafeString:
    """An age with its heat, at most ``most``: a screen has one solid red."""
    if seconds is None:
        return format_html('<span class="zero">{}</span>', empty)
    heat = min(most, wording.heat(seconds, target))
    return format_html('<span class="age age-{}">{}</span>', heat, wording.age(seconds))


@register.simple_tag
def figure(seconds: float | None) -> SafeString:
    """An age as a tile's figure: units small."""
    return format_html_join(" ", "{}<small>{}</small>", wording.parts(seconds)) or SafeString(wording.NONE)


@register.simple_tag
def when(us: float | int | None, style: str = "clock", empty: str = wording.NONE) -> SafeString:
    """A moment as ``<time>``: UTC in the page, the viewer's zone once ``live.js`` has run, exact on hover."""
    moment = wording.moment(us)
    if moment is None:
        return format_html('<span class="faint">{}</span>', empty)
    iso = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = moment.strftime("%H:%M:%S") if style != "day" else moment.strftime("%Y-%m-%d %H:%M")
    return format_html('<time datetime="{}" data-when="{}" title="{}">{} UTC</time>', iso, style, iso, text)


@lru_cache(maxsize=64)
def _page_url(name: str, prefix: str) -> str:
    """A page's address; a list has hundreds of links to the same few."""
    return reverse(f"dashboard:{name}")


@register.simple_tag
def link(page_: str, *args: Any, **query: Any) -> str:
    """``/queues/?name=…``: names go into the query, encoded. A None leaves its key out."""
    base = reverse(f"dashboard:{page_}", args=args) if args else _page_url(page_, get_script_prefix())
    pairs = {key: value for key, value in query.items() if value is not None}
    if query.get("queue") == "":  # in a form an empty field means any
        pairs["empty"] = "1"
    return f"{base}?{urlencode(pairs)}" if pairs else base


@register.simple_tag
def joburl(job_id: Any) -> str:
    """A job's page; an empty id, which no page can have, leads to the search."""
    jobs = _page_url("jobs", get_script_prefix())
    return f"{jobs}{quote(str(job_id), safe=_PATH)}/" if job_id else jobs


@register.simple_tag(takes_context=True)
def requery(context: template.Context, **changes: Any) -> str:
    """This page's address with some query keys changed; None removes one. A changed filter starts at its first page."""
    query = context["request"].GET.copy()
    for key in ("page", "before", "after"):
        query.pop(key, None)
    for key, value in changes.items():
        query.pop(key, None)
        if value is not None:
            query[key] = value
    return f"?{query.urlencode()}"


@register.simple_tag
def rowid(prefix: str, *parts: Any) -> str:
    """An element id from any text: the same row keeps its id over refreshes."""
    digest = hashlib.sha1("\x1f".join(str(part) for part in parts).encode("utf-8", "replace"), usedforsecurity=False)
    return f"{prefix}-{digest.hexdigest()[:12]}"


@register.simple_tag
def zero(value: float | int | None, style: str = "count") -> SafeString:
    """A number; zero steps back, unknown is a dash."""
    text = {"count": wording.count, "rate": wording.rate}[style](value)
    return format_html('<span class="zero">{}</span>', text) if not value else format_html("{}", text)


@register.simple_tag
def until(us: int, now: int = 0) -> str:
    """``17 m 02 s left`` of an end in µs; "until lifted" for 0."""
    if not us:
        return _("until lifted")
    return _("%(age)s left") % {"age": wording.age((us - now) / 1e6)}


@register.simple_tag(takes_context=True)
def hidden_query(context: template.Context, *left_out: str) -> SafeString:
    """This page's query as hidden fields, so that a form adds to the filters."""
    pairs = [(k, v) for k, values in context["request"].GET.lists() if k not in left_out for v in values]
    return format_html_join("", '<input type="hidden" name="{}" value="{}">', pairs)


@register.simple_tag(takes_context=True)
def facet(context: template.Context, name: str, value: str) -> str:
    """This page with one filter set, at its first page."""
    return requery(context, **{name: value})


@register.simple_tag(takes_context=True)
def unquery(context: template.Context, name: str) -> str:
    """This page without one filter."""
    return requery(context, **{name: None})


@register.filter
def instance(value: str) -> str:
    """An instance or control id as people read it: name and key."""
    _kind, name, key = split_instance(value)
    return wording.named(name) + (f" {wording.visible(masking.mask_text(key))}" if key else "")


@register.filter
def keypart(value: str) -> str:
    """The key of an instance id, as addresses carry it."""
    return str(value or "").partition("\x1f")[2]


@register.filter
def arguments(description: str) -> str:
    """``order_id=5`` of ``shop.jobs.print_label(order_id=5)``: the function stands above it already."""
    head, bracket, tail = description.partition("(")
    return tail.removesuffix(")") if bracket and " " not in head else description


@register.filter
def counts(row: QueueRow) -> list[tuple[str, int]]:
    """Open and held jobs of a queue by state, in the order of the columns."""
    held = {"failed": row.failed, "quarantined": row.quarantined}
    return [(s, held[s] if s in held else row.open.get(s, 0)) for s in COLUMNS]


@register.simple_tag
def css(name: str) -> str:
    return states.state(name).css


@register.simple_tag
def word(name: str) -> str:
    return str(states.state(name).word)


@register.simple_tag
def stateglyph(name: str) -> SafeString:
    return glyph(states.state(name).glyph)


@register.simple_tag
def eventcss(name: str) -> str:
    return states.event(name)[0]


@register.simple_tag
def eventglyph(name: str) -> SafeString:
    return glyph(states.event(name)[1])


@register.filter
def verbword(name: str) -> str:
    """``acquired`` of ``lock.acquired``, in words."""
    subject, _dot, verb = name.rpartition(".")
    words = verb.replace("_", " ")
    return words if subject == "job" else f"{subject} {words}"


register.filter("lift_text", wording.lift_text)


@register.simple_tag
def kind(name: str) -> str:
    return str(states.KINDS.get(name, name))


@register.simple_tag
def reason(text: str) -> str:
    """Why a job is in quarantine: the kinds that the doors write, in words; anything else as it is."""
    return reason_words(wording.visible(masking.mask_text(text)))


@register.simple_tag
def timeword(name: str) -> str:
    return str(states.TIMES.get(name, name))


@register.simple_tag
def factword(name: str) -> str:
    return str(states.FACTS.get(name, name))


@register.simple_tag
def growth(row: QueueRow) -> SafeString:
    """Inflow less completions per minute, with its sign; a dash when too little is known."""
    pace = row.pace()
    if pace is None:
        return SafeString('<span class="faint">–</span>')
    more = pace[0] - pace[1]
    look = "bad" if more > 0 and drains.drain(row).bad else "good" if more < 0 else ""
    return format_html('<span class="delta {}">{}</span>', look, _("%(n)s/min") % {"n": wording.signed(more)})


@register.simple_tag
def drain(row: QueueRow) -> drains.Drain:
    return drains.drain(row)


@register.simple_tag
def secret(name: str, value: str) -> str:
    """The value of a field, masked when its name says that it is a secret (our lease tokens are not)."""
    if masking.secret_name(name) and not name.startswith("qo_"):
        return masking.MASK
    return wording.visible(masking.mask_text(value))


@register.simple_tag(takes_context=True)
def verb(context: template.Context, dialog: str, codename: str, label: str, **data: Any) -> SafeString:
    """A button that opens a dialog; without the permission it stays visible, disabled, and says why."""
    size, look = data.pop("small", None), "danger" if data.pop("danger", None) else ""
    look = "primary" if data.pop("primary", None) else look
    needs, symbol = data.pop("needs_selection", None), data.pop("glyph", "")
    classes = " ".join(filter(None, ("btn", "small" if size else "", look)))
    icon = glyph(symbol) if symbol else ""
    if not context["may"].get(codename):
        why = _("This needs the permission “%(permission)s” (%(what)s).") % {
            "permission": codename,
            "what": access.NEEDED.get(codename, codename),
        }
        return format_html(
            '<button class="{} refused" type="button" aria-disabled="true" title="{}" data-why="{}">{}{}</button>',
            classes, why, why, icon, label,
        )  # fmt: skip
    if dialog == "lift":
        data["word"] = label.rstrip("…")
        data["says"] = wording.lift_text(data.get("action", ""))
    if "action" in data:
        data["action"] = reverse(f"dashboard:do_{data['action']}")
    attributes = format_html_join("", ' data-{}="{}"', data.items())
    return format_html(
        '<button class="{}" type="button" data-dialog="{}"{}{}>{}{}</button>',
        classes, dialog, attributes, SafeString(" data-needs-selection disabled") if needs else "", icon, label,
    )  # fmt: skip
