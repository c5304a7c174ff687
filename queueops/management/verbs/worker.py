"""`queueops worker`."""

from __future__ import annotations

import logging
import os
import re
import secrets
import socket
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from django.conf import settings
from django.db import connections
from django_rq.connection_utils import filter_connection_params
from django_rq.queues import get_queues
from django_rq.workers import get_exception_handlers

from queueops.management.base import BaseVerb, VerbError, positive
from queueops.management.logs import be_brief
from queueops.supervise.processes import Child, Supervisor
from queueops.supervise.up import manage

LEVELS = {0: "WARNING", 1: "INFO"}


class Verb(BaseVerb):
    name = "worker"
    help = "run jobs of the named queues, in their order (default: all queues, in the order of the settings)"
    checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("queues", nargs="*", metavar="QUEUE", help="queues, the most urgent first")
        parser.add_argument("--workers", type=positive, default=1, help="number of worker processes (%(default)s)")
        kinds = "fork: a process for each job; simple: jobs run in the worker's own process (%(default)s)"
        parser.add_argument("--class", dest="kind", choices=("fork", "simple"), default="fork", help=kinds)
        parser.add_argument("--burst", action="store_true", help="end when no job can run any more")
        parser.add_argument("--max-jobs", type=positive, help="end after so many jobs")
        parser.add_argument("--name", help="name of the worker (default: made of host and process)")

    def handle(self, options: Namespace) -> None:
        names = chosen(options.queues)
        if options.workers == 1:
            self.work(names, options)
        elif options.name:
            raise VerbError("--name is for one worker: several cannot have the same name")
        else:
            self.supervise(names, options)

    def work(self, names: list[str], options: Namespace) -> None:
        """Be a worker, in this process."""
        from queueops.rq import SimpleWorker, Worker

        queues = get_queues(*names)
        connections.close_all()  # a connection must not be shared with the processes of the jobs
        worker = (SimpleWorker if options.kind == "simple" else Worker)(
            queues,
            name=options.name or new_name(),
            connection=queues[0].connection,
            exception_handlers=get_exception_handlers() or None,
            job_class=queues[0].job_class,
            queue_class=type(queues[0]),
        )
        if self.verbosity == 0:
            be_brief()
        level = LEVELS.get(self.verbosity, "DEBUG")
        accident = Accident()
        worker.log.addFilter(accident)
        worker.work(burst=options.burst, max_jobs=options.max_jobs, with_scheduler=False, logging_level=level)
        if accident.error:
            raise VerbError(f"the worker ended: {type(accident.error).__name__}: {accident.error}")

    def supervise(self, names: list[str], options: Namespace) -> None:
        """Be the parent of several workers."""
        command = [*manage(), "queueops", "worker", "--class", options.kind, "--verbosity", str(self.verbosity)]
        command += ["--burst"] if options.burst else []
        command += ["--max-jobs", str(options.max_jobs)] if options.max_jobs else []
        ends = bool(options.burst or options.max_jobs)
        with Supervisor() as family:
            for number in range(1, options.workers + 1):
                restart: Any = "failure" if ends else "always"
                family.start(Child(f"worker-{number}", [*command, "--", *names], restart=restart))
            status = family.run()
        if status:
            sys.exit(status)


class Accident(logging.Filter):
    """Remembers the error that ended a worker: RQ logs it and then returns as if all were well."""

    error: BaseException | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and "unhandled exception" in str(record.msg):
            self.error = record.exc_info[1]
        return True


def new_name() -> str:
    """A name that tells where the worker runs, and more: a restarted container has the same host and process."""
    host = re.sub(r"[^A-Za-z0-9.-]", "", socket.gethostname())[:60] or "host"
    return f"{host}.{os.getpid()}.{secrets.token_hex(2)}"


def chosen(names: list[str]) -> list[str]:
    """The queues to serve, checked: they are in the settings, and all on one Redis server."""
    queues: dict[str, Any] = settings.RQ_QUEUES
    if not queues:
        raise VerbError("RQ_QUEUES in the settings names no queue: there is nothing to serve")
    for name in names:
        if name not in queues:
            raise VerbError(f"RQ_QUEUES has no queue {name!r}; it has {', '.join(map(repr, queues))}")
    names = list(dict.fromkeys(names or queues))
    first = filter_connection_params(queues[names[0]])
    for name in names[1:]:
        if filter_connection_params(queues[name]) != first:
            pair = f"{names[0]!r} and {name!r} are on different Redis servers"
            raise VerbError(f"{pair}: all queues of one worker must be on one; name the queues of one server")
    return names
