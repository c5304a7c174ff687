"""Log lines for a terminal that several processes share."""

from __future__ import annotations

import logging
import re

from queueops.management.base import one_line


class OneLine(logging.Formatter):
    """A record on one line: an exception is named, its traceback left to the page of the job."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        first, *rest = record.getMessage().strip().splitlines() or [""]
        first = re.sub(r"^Worker \S+: ", "", first)  # the name of the process stands before the line
        # RQ writes the traceback into the message: its last line is the exception
        error = rest[-1] if rest else record.exc_info and record.exc_info[1] and repr(record.exc_info[1])
        brief = {"msg": f"{first}: {error}" if error else first, "args": None, "exc_info": None, "exc_text": None}
        return one_line(super().format(logging.makeLogRecord({**record.__dict__, **brief, "stack_info": None})), 300)


def be_brief() -> None:
    """One line for each record from now on, on the handlers that the settings made."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(OneLine())
