"""Charts as inline SVG: attributes and classes only, so that the CSP needs no exception."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import charts, timelines, wording
from dashboard.masking import mask_text
from dashboard.selectors.marks import Mark
from dashboard.templatetags.qo_jobs import verbname

register = template.Library()

NONE = SafeString('<path class="spark-none" d="M0 29H120"/>')


@register.simple_tag
@lru_cache(maxsize=256)
def sparkline(values: tuple[float | None, ...], css: str = "", width: int = 88) -> SafeString:
    """One series on its area; decorative, since its newest value stands beside it. All viewers share one drawing."""
    spark = charts.spark(values, width)
    body = format_html('<path class="spark-a" d="{}"/><path class="spark-l" d="{}"/>', spark.area, spark.line)
    return format_html(
        '<svg class="spark {}" viewBox="0 0 {} 28" preserveAspectRatio="none" aria-hidden="true">{}</svg>',
        css, width, body if spark.line else format_html('<path class="spark-none" d="M0 27.5H{}"/>', width),
    )  # fmt: skip


@register.simple_tag
@lru_cache(maxsize=1024)
def gapspark(inflow: tuple[float | None, ...], completed: tuple[float | None, ...]) -> SafeString:
    """Inflow and completion with the gap between them filled."""
    gap = charts.gap(inflow, completed)
    missing = "".join(f"M{x:.1f} 29H{x + width:.1f}" for x, width in gap.missing)
    body = format_html(
        '<path class="spark-none" d="{}"/><path class="band-over" d="{}"/><path class="band-under" d="{}"/>'
        '<path class="line line-in" d="{}"/><path class="line line-out" d="{}"/>',
        missing, gap.over, gap.under, gap.inflow, gap.completed,
    )  # fmt: skip
    return format_html(
        '<svg class="spark gapspark" viewBox="0 0 120 30" preserveAspectRatio="none" aria-hidden="true">{}</svg>',
        body if gap.inflow else NONE,
    )


@register.simple_tag
def slotbar(held: int, limit: int, gone: int = 0, offers: int = 0) -> SafeString:
    """Up to 12 slots as boxes, above that a bar; a slot whose owner is gone is crossed out."""
    label = _("%(held)s of %(limit)s held") % {"held": held, "limit": limit}
    if gone:
        label += ", " + ngettext("owner of %(n)s gone", "owners of %(n)s gone", gone) % {"n": gone}
    slots = max(limit, held)
    if slots > 12 or slots < 1:
        width = min(100, round(100 * held / limit)) if limit else (100 if held else 0)
        css = "s-failed" if gone else "s-running"
        return format_html(
            '<svg class="bar {}" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="{}">'
            '<rect width="{}" height="8"/></svg>',
            css, label, width,
        )  # fmt: skip
    body = format_html_join("", "{}", ((_slot(i, held - gone, held, held + offers),) for i in range(slots)))
    return format_html(
        '<svg class="slotbar" viewBox="0 0 {0} 14" width="{0}" height="14" role="img" aria-label="{1}">{2}</svg>',
        slots * 10 - 2, label, body,
    )  # fmt: skip


def _slot(index: int, alive: int, held: int, offered: int) -> SafeString:
    x = index * 10
    if index < alive:
        return format_html('<rect class="slot-held" x="{}" width="8" height="14" rx="1"/>', x)
    if index < held:
        return format_html(
            '<rect class="slot-gone" x="{}.75" y=".75" width="6.5" height="12.5" rx="1"/>'
            '<path class="slot-x" d="M{}.5 12.5L{}.5 1.5"/>',
            x, x + 1, x + 6,
        )  # fmt: skip
    css = "slot-offered" if index < offered else "slot-free"
    return format_html('<rect class="{}" x="{}.5" y=".5" width="7" height="13" rx="1"/>', css, x)


@register.simple_tag
def chart_data(chart: timelines.Chart) -> str:
    """What ``charts.js`` draws; autoescaped into an attribute."""
    return chart.data(mark)


@register.simple_tag
def chart_value(chart: timelines.Chart, value: float | None) -> str:
    """A value of a chart in its unit."""
    tell = {"rate": wording.rate, "count": wording.count, "seconds": wording.fine}[chart.unit]
    return tell(value)


@register.simple_tag
def mark(item: Mark) -> str:
    """What was done, in one line; text of people, masked."""
    what = f"{verbname(item.verb)} {item.target}".strip()
    said = f"{what} · {item.actor}: {item.reason}" if item.reason else f"{what} · {item.actor}"
    return wording.visible(mask_text(said.replace("\n", " ")))[:200]


@register.simple_tag
def workerbar(busy: int, idle: int, silent: int) -> SafeString:
    """Workers as slots: busy, silent, idle; decorative beside the figures."""
    total = busy + idle + silent
    if not total or total > 24:
        return SafeString("")
    width = total * 5.5 - 1.5
    whole = max(48, width)  # a few slots are not blown up: they stand at the right end
    body = format_html_join("", "{}", ((_worker(i, whole - width, busy, busy + silent),) for i in range(total)))
    return format_html(
        '<svg class="spark" viewBox="0 0 {} 20" preserveAspectRatio="xMaxYMax meet" aria-hidden="true">{}</svg>',
        whole,
        body,
    )


def _worker(index: int, left: float, busy: int, known: int) -> SafeString:
    x = left + index * 5.5
    if index < busy:
        return format_html('<rect class="slot-held" x="{}" width="4" height="20" rx="1"/>', x)
    if index < known:
        return format_html('<rect class="slot-gone" x="{}" y=".75" width="2.5" height="18.5" rx="1"/>', x + 0.75)
    return format_html('<rect class="slot-free" x="{}" y=".5" width="3" height="19" rx="1"/>', x + 0.5)


@register.simple_tag
def lease_bar(left: float, span: float, css: str = "s-running") -> SafeString:
    """What is left of a lease, in seconds; nothing when its length is not known."""
    if not span:
        return SafeString("")
    label = _("%(left)s of %(span)s of the lease left") % {"left": wording.age(left), "span": wording.age(span)}
    width = max(0, min(100, round(100 * left / span)))
    return format_html(
        '<svg class="bar {}" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect width="{}" height="8"/></svg>',
        css, label, width,
    )  # fmt: skip


@register.simple_tag
def share_bar(value: float, top: float, label: str, css: str = "s-queued") -> SafeString:
    """A horizontal bar of ``value`` on a track of ``top``."""
    return format_html(
        '<svg class="bar {}" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect width="{}" height="8"/></svg>',
        css, label, round(100 * value / top, 1) if top else 0,
    )  # fmt: skip


@register.inclusion_tag("dashboard/_partials/flow_chart.html")
def flow_chart(
    inflow: Sequence[float | None], completed: Sequence[float | None], label: str, end: int
) -> dict[str, Any]:
    """The big chart, for three widths. ``end``: µs of the newest minute's start; the axis is named by ``live.js``."""
    sizes = [
        _plot(inflow, completed, width, height, css)
        for width, height, css in ((1200, 250, "plot-xl"), (900, 236, "plot-wide"), (340, 200, "plot-narrow"))
    ]
    return {"plots": sizes, "label": label, "ticks": _ticks(len(inflow), end)}


def _plot(
    inflow: Sequence[float | None], completed: Sequence[float | None], width: int, height: int, css: str
) -> dict[str, Any]:
    named = css != "plot-narrow"  # beside the ends of its lines stand their values
    left, right, top_pad, bottom = 40, 84 if named else 8, 20, 8
    top = charts.nice(max([v for v in (*inflow, *completed) if v is not None] or [1.0]))
    inner = height - top_pad - bottom
    gap = charts.gap(inflow, completed, width - left - right, inner, pad=0, top=top, left=left)
    lines = [
        {
            "y": round(top_pad + inner * (1 - i / 4), 1),
            "text": wording.rate(top * i / 4),
            "label_y": round(top_pad + inner * (1 - i / 4) + 4, 1),
        }
        for i in range(5)
    ]
    ends: list[dict[str, Any]] = []
    for name, values in (("in", inflow), ("out", completed)):
        value = values[-1] if values else None
        if value is not None and named:
            ends.append({"name": name, "y": inner * (1 - value / top), "value": wording.rate(value)})
    if len(ends) == 2 and abs(ends[0]["y"] - ends[1]["y"]) < 14:
        upper, lower = sorted(ends, key=lambda e: e["y"])
        middle = (upper["y"] + lower["y"]) / 2
        upper["label_y"], lower["label_y"] = middle - 3, middle + 11
    for e in ends:
        e.setdefault("label_y", e["y"] + 4)
        e["y"], e["label_y"] = round(e["y"], 1), round(e["label_y"], 1)
    return {
        "gap": gap,
        "width": width,
        "height": height,
        "css": css,
        "lines": lines,
        "left": left,
        "top": top_pad,
        "inner": inner,
        "right": width - right,
        "ends": ends,
        "label_x": width - right + 8,
        "hatch": f"hatch-{css}",
    }


def _ticks(count: int, end: int) -> list[dict[str, Any]]:
    """Quarter marks of the time axis, as moments."""
    return (
        [{"at": end - minutes * 60_000_000} for minutes in (count, count * 3 // 4, count // 2, count // 4, 0)]
        if count
        else []
    )
