"""What a person does with a dialog."""

from __future__ import annotations

from typing import Any

WHY = "the courier is slow"


def confirm(page: Any, name: str, button: str, said: str, *, why: str = WHY) -> None:
    """In the open dialog ``name``: give a reason, press ``button``, and be told ``said``."""
    dialog = page.locator(f"#d-{name}")
    dialog.get_by_label("Reason").fill(why)
    dialog.get_by_role("button", name=button).click()
    told(page, said)


def told(page: Any, said: str) -> None:
    """The page says so above its content."""
    page.locator(".toast", has_text=said).wait_for()


def press(page: Any, button: str, row: str = "", *, exact: bool = False) -> None:
    """The first button of that name; with ``row``, of the row or card that has this text."""
    named = page.get_by_role("button", name=button, exact=exact)
    place = page.locator("#live")
    if row:
        place = place.locator("tr, li").filter(has_text=row).filter(has=named)
    place.get_by_role("button", name=button, exact=exact).first.click()
