"""A process that kills itself in the middle of a verb: ``python -m tests.operations.killed VERB WHERE``.

WHERE is ``before`` (the SQL rows are there, Redis knows nothing) or
``after`` (Redis knows, SQL does not know that yet).
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def die(*args: Any, **kwargs: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def main(verb: str, where: str) -> None:
    import django

    django.setup()
    from queueops.operations import bulk, isolations, limits, pauses, protocol, releases, steps

    who = {"actor": "ann", "reason": "killed half-way"}
    modules = {"pause": pauses, "resume": pauses, "isolate": isolations, "limit": limits, "release": releases}
    modules |= {"quarantine": steps}
    module = modules[verb]
    real = module.run

    def then_die(*args: Any) -> Any:
        real(*args)
        die()

    module.run = die if where == "before" else then_die  # type: ignore[assignment]
    assert protocol
    verbs = {
        "pause": lambda: pauses.pause("queue", "default", **who),
        "resume": lambda: pauses.resume("queue", "default", **who),
        "isolate": lambda: isolations.isolate("error", "abcdef12", **who),
        "limit": lambda: limits.limit("disk", 3, **who),
        "release": lambda: releases.release("disk", all=True, **who),
        "quarantine": lambda: bulk.quarantine(["job"], **who),
    }
    verbs[verb]()


if __name__ == "__main__":
    main(*sys.argv[1:])
