"""What can be said of all templates and texts without running a page."""

from __future__ import annotations

import gettext
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import NoReverseMatch, reverse

from dashboard.selectors.snapshots import State
from dashboard.views.shell import _navigation
from tests.support import ROOT

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SOURCES = sorted((ROOT / "dashboard").rglob("*.py"))
TEXT = re.compile(r"""\{%\s*translate\s+(["'])(.*?)\1|_\((["'])(.*?)\3\)""")
CALLS = re.compile(r"""(?<![\w.])(?:_|gettext|gettext_lazy)\(\s*"((?:[^"\\]|\\.)*)"\s*\)""")


def texts(path: Path) -> set[str]:
    source = path.read_text()
    if path.suffix == ".py":
        return {
            match.encode().decode("unicode_escape").encode("latin-1").decode() if "\\" in match else match
            for match in CALLS.findall(source)
        }
    return {a or b for _, a, _, b in TEXT.findall(source)}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_no_inline_script_style_or_handler(path: Path) -> None:
    source = path.read_text()
    assert not re.search(
        r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:|hx-on|\|safe\b|autoescape off", source
    )


def test_no_script_builds_html_from_text() -> None:
    for path in (ROOT / "static" / "dashboard").glob("*.js"):
        source = path.read_text()
        assert "insertAdjacentHTML" not in source and "eval(" not in source
        assert ".innerHTML =" not in source


def test_japanese_is_complete() -> None:
    with (ROOT / "locale/ja/LC_MESSAGES/django.mo").open("rb") as file:
        catalogue = gettext.GNUTranslations(file)
    known = {key[0] if isinstance(key, tuple) else key for key in catalogue._catalog}  # type: ignore[attr-defined]
    missing = {text for path in (*TEMPLATES, *SOURCES) for text in texts(path)} - known
    assert not missing


def test_the_navigation_links_only_to_pages_that_exist() -> None:
    for _key, _word, entries in _navigation(State(())):
        for entry in entries:
            try:
                reverse(f"dashboard:{entry.page}")
            except NoReverseMatch:
                pytest.fail(f"no page {entry.page}")


def test_the_policy_needs_no_exception() -> None:
    directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert not any("unsafe" in str(value) for value in directives.values())


def test_vendored_files_have_version_and_licence() -> None:
    vendor = ROOT / "static/dashboard/vendor"
    listed = (vendor / "VERSIONS").read_text()
    for path in vendor.glob("*.js"):
        assert path.name in listed
        assert (vendor / f"{path.name.split('.')[0].removesuffix('-ext')}.LICENSE").is_file()
