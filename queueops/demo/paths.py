"""Where the bookshop keeps its files: everything under ``.queueops/demo/``."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings


def home() -> Path:
    """The shop's own directory, made when missing."""
    return _made(Path(settings.STATE_DIR) / "demo")


def reports() -> Path:
    """Report files: one pair a book, overwritten each time."""
    return _made(home() / "reports")


def invoices() -> Path:
    """Printed invoices: a fixed number of files, overwritten in turn."""
    return _made(home() / "invoices")


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, so that a reader or a killed writer never leaves half of one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory
