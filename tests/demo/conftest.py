"""Every test has a shop of its own, in a directory of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queueops.demo import courier


@pytest.fixture(autouse=True)
def shop(settings: Any, tmp_path: Path) -> Path:
    """The directory of the shop's files."""
    settings.STATE_DIR = tmp_path
    return tmp_path / "demo"


@pytest.fixture
def partner(shop: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[courier.Courier]:
    """An open courier in good mood, which answers at once and has paper."""
    monkeypatch.setattr(courier, "PHASES", ((60, "normal"),))
    monkeypatch.setattr(courier, "LATENCY", {"normal": 0, "failing": 0})
    monkeypatch.setattr(courier, "PRINTER_OFF", 0)
    monkeypatch.setattr(courier, "LINE_EVERY", {})
    opened = courier.Courier()
    opened.open()
    yield opened
    opened.close()
