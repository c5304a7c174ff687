"""What a refusing server says, in the words of every version."""

from __future__ import annotations

import pytest
from redis.exceptions import OutOfMemoryError, ReadOnlyError, ResponseError

from queueops.rdb.scripts import ScriptError, Unavailable, Unreadable, translate

OLD = "Error running script (call to f_e57525): @user_script:123: @user_script: 123: -"


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (OLD + "OOM command not allowed when used memory > 'maxmemory'.", OutOfMemoryError),
        (OLD + "READONLY You can't write against a read only replica.", ReadOnlyError),
        (OLD + "MISCONF Redis is configured to save RDB snapshots", Unavailable),
        ("MISCONF Redis is configured to save RDB snapshots", Unavailable),
        ("BUSY Redis is busy running a script.", Unavailable),
        ("QO SCHEMA_NEWER this Redis holds layout 9", ScriptError),
        (OLD + "WRONGTYPE Operation against a key", Unreadable),
        ("WRONGTYPE Operation against a key", Unreadable),
        ('QO UNREADABLE {"why": "x", "instances": {}, "queues": ["a"]}', Unreadable),
        ("user_script:1: attempt to index a nil value", ResponseError),
    ],
)
def test_each_refusal_is_told_apart(said: str, kind: type[Exception]) -> None:
    assert type(translate(ResponseError(said))) is kind
