"""Numbers, ages and names as people read them. Pure functions; the template tags wrap them."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime

from django.utils.translation import gettext as _

NONE = "–"
_RANDOM = re.compile(r"[0-9a-f]{20,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NBSP = "\u00a0"
MOST = 10**18
"""A number beyond it is shown as unknown."""


def visible(text: str) -> str:
    """Text with control and direction-changing characters written out, so that it cannot disguise itself."""
    return text if text.isprintable() else "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char in "\u200c\u200d" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp", "Co"):
        return char
    code = ord(char)
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def short(value: str) -> str:
    """The first 8 characters of a random id (UUID or long hex); another one as it is, cut at 40."""
    if _RANDOM.fullmatch(value):
        return value[:8]
    return value if len(value) <= 40 else f"{value[:39]}…"


def named(text: str) -> str:
    """A name for display: an empty one says so."""
    return visible(text) if text else _("(empty name)")


def known(value: float | None) -> bool:
    """Whether it is a number that can be shown: what is read from Redis may be infinite, NaN or of 400 digits."""
    return value is not None and -MOST <= value <= MOST


def parts(seconds: float | None) -> list[tuple[str, str]]:
    """An age as ``(figure, unit)`` pairs, at most two: ``[("11", "m"), ("24", "s")]``."""
    if seconds is None or not known(seconds):
        return []
    s = max(0.0, seconds)
    if s < 9.95:
        return [(f"{s:.1f}" if s >= 0.05 else "0", _("s"))]
    whole = int(s + 0.5)
    if whole < 60:
        return [(str(whole), _("s"))]
    if whole < 3600:
        return [(str(whole // 60), _("m")), (f"{whole % 60:02d}", _("s"))]
    if whole < 86400:
        return [(str(whole // 3600), _("h")), (f"{whole % 3600 // 60:02d}", _("m"))]
    return [(f"{whole // 86400:,}", _("d")), (str(whole % 86400 // 3600), _("h"))]


def age(seconds: float | None) -> str:
    """``11 m 24 s``; an en dash for an unknown age."""
    return NBSP.join(f"{figure}{NBSP}{unit}" for figure, unit in parts(seconds)) or NONE


def fine(seconds: float | None) -> str:
    """As :func:`age`, in milliseconds below one second."""
    if seconds is None or not known(seconds) or seconds >= 0.9995:
        return age(seconds)
    ms, unit = seconds * 1000, _("ms")
    return f"{'<1' if 0 < ms < 1 else f'{ms:.0f}'}{NBSP}{unit}"


def heat(seconds: float | None, target: float | None) -> int:
    """0 to 4 by multiples of the target: bold from 0.5, amber from 1, red tint from 1.5, solid red from 3."""
    if seconds is None or not target or not known(seconds):
        return 0
    ratio = seconds / target
    return sum(ratio >= step for step in (0.5, 1.0, 1.5, 3.0))


def times(ratio: float | None) -> str:
    """``5.7×``."""
    if ratio is None or not known(ratio):
        return NONE
    if 0 < ratio < 0.05:
        return "<0.1×"
    return f"{ratio:,.0f}×" if ratio >= 99.5 else f"{ratio:.1f}×"


def count(value: float | int | None) -> str:
    """``1,172``; an en dash for unknown."""
    return NONE if value is None or not known(value) else f"{value:,.0f}"


def rate(value: float | None) -> str:
    """A rate per minute: one decimal below 100, so that 0.4 is not 0 and 33.3 is not 33."""
    if value is None or not known(value):
        return NONE
    if value == 0:
        return "0"
    if abs(value) < 0.05:
        return "<0.1"
    return f"{value:.1f}" if abs(value) < 99.95 and value != int(value) else f"{value:,.0f}"


def signed(value: float | None) -> str:
    """``+ 4.9``, ``− 54``, ``± 0``."""
    if value is None or not known(value):
        return NONE
    if abs(value) < 0.05:
        return "± 0"
    return f"{'+' if value > 0 else '−'} {rate(abs(value))}"


def moment(us: float | int | None) -> datetime | None:
    """Microseconds of the epoch as an aware UTC datetime; None for 0, unknown or out of range."""
    if not us:
        return None
    try:
        return datetime.fromtimestamp(us / 1e6, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def size(count_bytes: int) -> str:
    """``5.0 MB``."""
    if not known(count_bytes):
        return NONE
    value = float(count_bytes)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def lift_text(verb: str) -> str:
    """What happens when something is lifted by this verb."""
    if verb == "unisolate":
        return _("From now on such jobs run again. Those in quarantine stay there until they are replayed.")
    if verb == "limit":
        return _("The declared limit counts again. Holders stay; waiters that fit are woken.")
    return _("What waited starts again, oldest first.")
