"""``manage.py queueops VERB``: hands over to the verbs and turns failures into one line and an exit status."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from typing import Any, NoReturn

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError
from redis.exceptions import AuthenticationError, ConnectionError, OutOfMemoryError, RedisError, TimeoutError

from queueops.management import registry
from queueops.management.base import VerbError, one_line
from queueops.rdb.client import told


class VerbParser(CommandParser):
    """Wrong options are told as JSON, too, when JSON was asked for."""

    def error(self, message: str) -> NoReturn:
        if "--json" in sys.argv:
            print(json.dumps({"error": one_line(message)}, ensure_ascii=False), flush=True)
        super().error(message)
        sys.exit(2)


class Command(BaseCommand):
    help = "Operate the queues. Each verb has its own --help."
    requires_system_checks: list[str] = []  # verbs ask for them: a check must not keep one from pausing a queue

    suppressed_base_arguments = {
        "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
    }  # fmt: skip

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs["formatter_class"] = RawDescriptionHelpFormatter  # keeps each verb on one line
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.__class__ = VerbParser  # Django names its own: unknown verbs and options are told by this one
        parser.usage = f"{parser.prog} VERB [options]"
        return parser

    def add_arguments(self, parser: ArgumentParser) -> None:
        self.verbs = registry.load()
        listing = "\n".join(f"{verb.name:<12}{verb.help}" for verb in self.verbs.values()).replace("%", "%%")
        verbs = parser.add_subparsers(
            dest="verb",
            metavar="VERB",
            title="verbs",
            description=listing,
            required=True,
            parser_class=VerbParser,
        )
        for verb in self.verbs.values():
            text = verb.help.replace("%", "%%")
            verb.prepare(verbs.add_parser(verb.name, description=text[:1].upper() + text[1:] + "."))

    def handle(self, *args: Any, **options: Any) -> None:
        verb = self.verbs[options["verb"]]
        self.as_json = bool(options.get("as_json"))
        try:
            if verb.checks:
                self.check(tags=["queueops"])  # not the pages: a fault there must not stop a worker
            verb.run(Namespace(**options))
        except VerbError as error:
            self.fail(str(error), error.code)
        except KeyboardInterrupt:
            sys.exit(130)
        except BrokenPipeError:
            sys.stderr.close()  # the reader of our output has gone: nothing more to say to it
            sys.exit(141)
        except AuthenticationError as error:
            self.fail(f"Redis refuses the login: {told(error)}; check the user and password in its URL", 3)
        except (ConnectionError, TimeoutError) as error:
            self.fail(f"Redis does not answer: {told(error)}; is it running, and is its URL right?", 3)
        except OutOfMemoryError as error:
            self.fail(told(error), 3)
        except RedisError as error:
            self.fail(f"Redis answered with an error: {told(error)}", 3)
        except DatabaseError as error:
            self.fail(f"the database answered with an error: {error}; has `manage.py migrate` been run?", 4)
        except ImproperlyConfigured as error:
            self.fail(str(error), 2)

    def fail(self, message: str, code: int) -> NoReturn:
        """One line on stderr, with ``--json`` one object on stdout too, then the exit status."""
        if self.as_json:
            print(json.dumps({"error": one_line(message)}, ensure_ascii=False), flush=True)
        print(f"queueops: {one_line(message)}", file=sys.stderr, flush=True)
        sys.exit(code)
