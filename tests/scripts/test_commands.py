"""Scripts use nothing that a Redis 6.2 does not know."""

from __future__ import annotations

import re
from pathlib import Path

from queueops.rdb import scripts

LUA = Path(scripts.__file__).parent / "lua"
KNOWN = """
    DEL EVAL EXISTS EXPIRE GET HDEL HEXISTS HGET HGETALL HINCRBY HKEYS HLEN HMGET HSCAN HSET HSETNX HSTRLEN LINDEX
    LINSERT LLEN LPOP LPOS LPUSH LRANGE LREM MGET PERSIST PEXPIRE PTTL PUBLISH RENAME RPUSH SADD SCARD SET SISMEMBER
    SMISMEMBER SRANDMEMBER SREM SSCAN TIME TTL TYPE UNLINK XADD XRANGE XREVRANGE XLEN ZADD ZCARD ZCOUNT ZMSCORE ZRANGE
    ZRANGEBYSCORE ZRANK ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE ZSCORE
"""


def test_every_command_and_option_is_older() -> None:
    for path in LUA.rglob("*.lua"):
        source = path.read_text("utf-8")
        called = set(re.findall(r"redis\.p?call\(\s*'(\w+)'", source))
        assert called <= set(KNOWN.split()), f"{path.name}: {called}"
        assert not re.search(r"'P?EXPIRE(AT)?'[^\n]*'(NX|XX|GT|LT)'", source), path.name
        assert not re.search(r"'SET'[^)\n]*'GET'\)", source), path.name
        assert not re.search(r"redis\.(setresp|acl_check_cmd|REDIS_VERSION)", source), path.name
