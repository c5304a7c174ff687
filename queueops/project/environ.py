"""Reads what the environment says, with defaults that need nothing installed. A wrong value is one clear line."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from queueops.supervise import embedded

TRUE, FALSE = {"1", "true", "yes", "on"}, {"", "0", "false", "no", "off"}


def flag(name: str) -> bool:
    """A switch: 1, true, yes, on; off when it is not set."""
    value = os.environ.get(name, "").strip().lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} is {value!r}: use 1 or 0")
    return value in TRUE


def words(name: str) -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def state_dir(base: Path) -> Path:
    """Where the project keeps its files; made for the owner only."""
    path = Path(os.environ.get("QUEUEOPS_STATE_DIR") or base / ".queueops").expanduser().absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be made: {error.strerror}; set QUEUEOPS_STATE_DIR") from error
    return path


def secret_key(state: Path) -> str:
    """SECRET_KEY, or one made once and kept in the state directory, readable by its owner only."""
    if key := os.environ.get("SECRET_KEY"):
        return key
    path = state / "secret_key"
    try:
        if not path.exists():
            _write_once(path, secrets.token_urlsafe(50))
        key = path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be used: {error.strerror}; or set SECRET_KEY") from error
    if len(key) < 32:
        raise ImproperlyConfigured(f"{path} holds no usable key: remove it, and a new one is made")
    return key


def _write_once(path: Path, text: str) -> None:
    # written aside and linked: of several first starts one wins, and none reads half a key
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    draft.touch(0o600, exist_ok=False)
    draft.write_text(text + "\n")
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()


def redis_url(state: Path) -> str:
    """REDIS_URL, or the embedded server of this state directory."""
    url = os.environ.get("REDIS_URL", "").strip()
    if not url:
        return embedded.url(state / "redis")
    try:
        return embedded.checked_url(url)
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error


def database(state: Path) -> dict[str, Any]:
    """DATABASE_URL (sqlite, postgres, mysql), or SQLite in the state directory."""
    url = os.environ.get("DATABASE_URL", "").strip() or f"sqlite:///{state / 'db.sqlite3'}"
    fix = "use sqlite:///PATH, postgres://USER:PASSWORD@HOST:PORT/NAME or mysql://USER:PASSWORD@HOST:PORT/NAME"
    try:
        config: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True))
    except Exception as error:  # the parser raises many kinds
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {fix}") from error
    engine = str(config.get("ENGINE", ""))
    if not config.get("NAME"):
        raise ImproperlyConfigured(f"DATABASE_URL names no database: {fix}")
    if engine.endswith("sqlite3"):
        _sqlite(config)
    elif engine.endswith("mysql"):
        _mysql(config)
    elif not engine.endswith("postgresql"):
        raise ImproperlyConfigured(f"DATABASE_URL is for {engine.rpartition('.')[2]!r}: {fix}")
    return config


def _sqlite(config: dict[str, Any]) -> None:
    """Several processes write: WAL, transactions that take their lock at once, and patience."""
    options = config.setdefault("OPTIONS", {})
    options.setdefault("transaction_mode", "IMMEDIATE")
    options.setdefault("timeout", 20)
    options.setdefault("init_command", "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;")
    name = str(config["NAME"])
    if name != ":memory:" and not Path(name).absolute().parent.is_dir():
        raise ImproperlyConfigured(f"DATABASE_URL: the directory of {name} does not exist; make it first")


def _mysql(config: dict[str, Any]) -> None:
    """MySQL and MariaDB through PyMySQL where mysqlclient is not installed."""
    options = config.setdefault("OPTIONS", {})
    options.setdefault("charset", "utf8mb4")
    options.setdefault("isolation_level", "read committed")
    try:
        import MySQLdb  # noqa: F401
    except ImportError:
        import pymysql

        pymysql.install_as_MySQLdb()
