"""`queueops up`: everything that a developer needs, from one command, in one terminal."""

from __future__ import annotations

import fcntl
import http.client
import os
import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, connection, connections

from queueops.supervise import embedded
from queueops.supervise.embedded import ServerProblem
from queueops.supervise.processes import Child, Supervisor, ending

WEB_SECONDS = 60.0
"""How long the web server may take to start."""


class UpProblem(Exception):
    """Why it does not start, and what to do: one line."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to start, and where the pages are served."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 2
    demo: bool = False


def up(options: Options) -> int:
    """Start everything and watch it until a signal. The exit status; UpProblem when it does not come up."""
    state = state_dir()
    with only_one(state), listening(options.host, options.port) as web_socket, Supervisor() as family:
        try:
            start_redis(family, state)
            prepare_database()
            if not family.requests:
                start_web(family, web_socket)
                welcome(family, web_socket)
                start_workers(family, options)
        except ServerProblem as error:
            raise UpProblem(str(error)) from error
        return family.run()


# -- before anything starts --------------------------------------------------------------------------------------------
def state_dir() -> Path:
    """The directory of the lock, the embedded server and its data."""
    given = getattr(settings, "STATE_DIR", None) or Path(getattr(settings, "BASE_DIR", ".")) / ".queueops"
    path = Path(given).absolute()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


@contextmanager
def only_one(state: Path) -> Iterator[None]:
    """Hold the lock of the state directory: the operating system lets go of it however this process ends."""
    with (state / "up.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            pid = lock.read(20).strip() or "unknown"
            fix = "stop it, or use another directory with QUEUEOPS_STATE_DIR"
            raise UpProblem(f"queueops is already up on {state} (process {pid}): {fix}") from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A bound socket for the web server."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise UpProblem(f"the host {host!r} cannot be used: {error.strerror}; try --host 127.0.0.1") from error
    with socket.socket(family, kind, proto) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
        except OSError as error:
            fix = "stop what listens there, or choose another with --port (make up PORT=…)"
            raise UpProblem(f"port {port} on {host} cannot be used: {error.strerror}; {fix}") from error
        bound.listen(128)
        yield bound


# -- the parts ---------------------------------------------------------------------------------------------------------
def start_redis(family: Supervisor, state: Path) -> None:
    """The embedded server where the settings point at it; else see that the one they name will do."""
    directory = state / "redis"
    addresses = {str(options.get("URL", "")) for options in settings.RQ_QUEUES.values()}
    if embedded.url(directory) in addresses:
        binary = embedded.find_binary()
        embedded.prepare(directory)
        embedded.end_leftover(directory)
        child = Child("redis", embedded.command(binary, directory), last=True, orphaned=signal.SIGTERM)
        family.start(child)

        def alive() -> bool:
            family.poll()
            return child.alive and not family.requests

        embedded.wait_ready(directory, alive)
        addresses.discard(embedded.url(directory))
    for address in sorted(filter(None, addresses)):
        embedded.check_server(address)


def prepare_database() -> None:
    """Connect and migrate."""
    try:
        connection.ensure_connection()
        call_command("migrate", verbosity=0, interactive=False)
    except (DatabaseError, ImproperlyConfigured) as error:
        where = connection.settings_dict.get("HOST") or connection.settings_dict.get("NAME")
        fix = "correct DATABASE_URL, or unset it for SQLite"
        raise UpProblem(f"the database ({connection.vendor}, {where}) cannot be used: {error}; {fix}") from error
    finally:
        connections.close_all()


def start_web(family: Supervisor, web_socket: socket.socket) -> None:
    """The web server; returns once it has answered a request."""
    readable, writable = os.pipe()  # both ends stay open: a restarted web server writes to it too
    os.set_inheritable(writable, True)
    module, _, attribute = settings.ASGI_APPLICATION.rpartition(".")
    command = [sys.executable, "-m", "queueops.supervise.web", f"{module}:{attribute}"]
    command += ["--fd", str(web_socket.fileno()), "--ready", str(writable)]
    web = family.start(Child("web", command, web_environment(web_socket), fds=(web_socket.fileno(), writable)))
    if family.wait_for(readable, web, WEB_SECONDS):
        first_answer(web_socket)
    elif not family.requests:
        how = "is not ready after a minute" if web.ended is None else ending(web.ended)
        raise UpProblem(f"the web server {how}; its own lines above say why")


def web_environment(web_socket: socket.socket) -> dict[str, str]:
    """The environment of the web server: a host that was asked for is an allowed one."""
    host = web_socket.getsockname()[0]
    allowed = os.environ.get("ALLOWED_HOSTS", "")
    named = f"[{host}]" if ":" in host else host
    return {**os.environ, "ALLOWED_HOSTS": ",".join(filter(None, [allowed, named]))}


def first_answer(web_socket: socket.socket) -> None:
    """Ask for a page: being started is not yet answering."""
    host, port = reachable(web_socket)
    client = http.client.HTTPConnection(host, port, timeout=20)
    try:
        client.request("GET", "/healthz", headers={"Host": "localhost"})
        status = client.getresponse().status
    except OSError as error:
        raise UpProblem(f"the web server does not answer: {error}; its own lines above say why") from error
    finally:
        client.close()
    if status >= 500:
        raise UpProblem(f"the web server answers with status {status}; its own lines above say why")


def reachable(web_socket: socket.socket) -> tuple[str, int]:
    """Host and port under which this machine reaches the web server."""
    host, port = web_socket.getsockname()[:2]
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port  # noqa: S104


def welcome(family: Supervisor, web_socket: socket.socket) -> None:
    """Where the dashboard is, and how to get in."""
    if family.requests:
        return
    host, port = reachable(web_socket)
    named = f"[{host}]" if ":" in host else host
    password = first_login()
    reset = f"{' '.join(manage())} changepassword admin"
    say = family.printer.raw
    say("")
    say(f"  queueops is up:  http://{named}:{port}/")
    if password:
        say(f"  log in as admin with the password {password}  (shown only this once)")
    say(f"  {'a new password' if password else 'log in as admin; a new password'}: {reset}")
    say("  Ctrl-C stops everything\n")


def first_login() -> str | None:
    """Make the first superuser; its password, or None where there is one already."""
    users = get_user_model()
    try:
        if users._default_manager.filter(is_superuser=True).exists():
            return None
        password = secrets.token_urlsafe(12)
        users._default_manager.create_superuser("admin", "", password)
        return password
    finally:
        connections.close_all()


def start_workers(family: Supervisor, options: Options) -> None:
    """Workers, the monitor, and the demo's workload."""
    if family.requests:
        return
    family.start(Child("monitor", [*manage(), "queueops", "monitor"]))
    for number in range(1, options.workers + 1):
        family.start(Child(f"worker-{number}", [*manage(), "queueops", "worker", "--verbosity", "0"]))
    if options.demo:
        family.start(Child("demo", [*manage(), "queueops", "demo"]))
    family.printer.say(f"started {', '.join(child.name for child in family.children)}")


def manage() -> list[str]:
    """The command that runs Django's commands of this project."""
    script = Path(sys.argv[0])
    if script.name == "manage.py" and script.exists():
        return [_short(Path(sys.executable)), _short(script)]
    return [sys.executable, "-m", "django"]


def _short(path: Path) -> str:
    """A path as one would type it here."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)
