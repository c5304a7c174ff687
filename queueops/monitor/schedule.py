"""Which duties there are, how often, and in which lane."""

from __future__ import annotations

from queueops.conf import conf
from queueops.monitor.duties import (
    copy_quarantine,
    mend,
    mirror,
    note_releases,
    pass_time,
    recover,
    redis_config,
    release_dependents,
    roll_up,
    rq_rate_limits,
    sample,
    take_snapshot,
    tidy_waiting,
    trim,
)
from queueops.monitor.duty import Duty


def lanes() -> list[list[Duty]]:
    """New duties: the pulse (its round renews the lease too), the doors' time, and what needs SQL."""
    return [
        [Duty("snapshot", conf.SNAPSHOT_EVERY, take_snapshot.act), Duty("sample", 60.0, sample.act)],
        [
            Duty("mend", 5.0, mend.act),
            Duty("time", 1.0, pass_time.act),
            Duty("rq_rate_limits", 1.0, rq_rate_limits.act),
            Duty("release_dependents", 1.0, release_dependents.act),
            Duty("tidy_waiting", 2.0, tidy_waiting.act),
            Duty("trim", 30.0, trim.act),
            Duty("redis_config", 120.0, redis_config.act),
        ],
        [
            Duty("mirror", 1.0, mirror.act),
            Duty("copy_quarantine", 1.0, copy_quarantine.act),
            Duty("recover", 5.0, recover.act),
            Duty("roll_up", 20.0, roll_up.act),
            Duty("note_releases", 10.0, note_releases.act),
        ],
    ]
