"""The environment of the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from queueops.project import environ


def test_a_key_is_made_once_and_is_the_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    key = environ.secret_key(tmp_path)
    assert len(key) > 50
    assert environ.secret_key(tmp_path) == key
    assert [(p.name, p.stat().st_mode & 0o777) for p in tmp_path.iterdir()] == [("secret_key", 0o600)]


def test_many_first_starts_at_once_agree_on_the_key(tmp_path: Path) -> None:
    use = f"environ.secret_key(pathlib.Path({str(tmp_path)!r}))"
    code = f"import pathlib; from queueops.project import environ; print({use})"
    starts = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(6)]
    keys = {start.communicate(timeout=60)[0] for start in starts}
    assert len(keys) == 1
    assert len(next(iter(keys))) > 50


def test_a_key_that_was_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    (tmp_path / "secret_key").write_text("short")
    with pytest.raises(ImproperlyConfigured, match="remove it, and a new one is made"):
        environ.secret_key(tmp_path)


def test_the_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUEOPS_STATE_DIR", str(tmp_path / "a" / "b"))
    assert environ.state_dir(Path("/unused")) == tmp_path / "a" / "b"
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").touch()
    monkeypatch.setenv("QUEUEOPS_STATE_DIR", str(tmp_path / "file" / "state"))
    with pytest.raises(ImproperlyConfigured, match="set QUEUEOPS_STATE_DIR"):
        environ.state_dir(Path("/unused"))


@pytest.mark.parametrize(
    ("url", "engine", "name"),
    [
        ("", "django.db.backends.sqlite3", "db.sqlite3"),
        ("sqlite:////tmp/x.db", "django.db.backends.sqlite3", "/tmp/x.db"),
        ("postgres://u:p@h:5432/n", "django.db.backends.postgresql", "n"),
        ("postgresql://u:p@h/n", "django.db.backends.postgresql", "n"),
        ("mysql://u:p@h/n", "django.db.backends.mysql", "n"),
    ],
)
def test_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, engine: str, name: str) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    config = environ.database(tmp_path)
    assert config["ENGINE"] == engine
    assert str(config["NAME"]).endswith(name)


@pytest.mark.parametrize("url", ["x", "redis://h/1", "postgres://h/", "sqlite:////no/such/dir/db", "mongo://h/n"])
def test_no_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        environ.database(tmp_path)


def test_switches_and_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, value in (("1", True), ("Yes", True), ("0", False), ("", False), (" off ", False)):
        monkeypatch.setenv("DEBUG", text)
        assert environ.flag("DEBUG") is value
    monkeypatch.setenv("DEBUG", "2")
    with pytest.raises(ImproperlyConfigured, match="DEBUG is '2': use 1 or 0"):
        environ.flag("DEBUG")
    monkeypatch.setenv("ALLOWED_HOSTS", " a.example, ,b.example ")
    assert environ.words("ALLOWED_HOSTS") == ["a.example", "b.example"]
