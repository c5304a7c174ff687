"""C34: one subscription for all sockets of a process; who may listen, and what a slow reader costs."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.test import Client

from dashboard import consumers
from dashboard.hub import Mailbox, digest, hub
from queueops.conf import conf
from tests.dashboard.conftest import make_user
from tests.dashboard.sockets import Socket
from tests.support import eventually

pytestmark = pytest.mark.django_db(transaction=True)


def cookie(user: Any) -> bytes:
    client = Client()
    client.force_login(user)
    return f"queueops_session={client.cookies['queueops_session'].value}".encode()


def subscribers(redis: Any) -> int:
    return int(redis.pubsub_numsub(conf.keys.static("snapshot_channel"))[0][1])


async def until_subscribed(redis: Any) -> None:
    while not await sync_to_async(subscribers)(redis):
        await asyncio.sleep(0.02)


async def snapshot(live: Socket) -> dict[str, Any]:
    while True:
        message = json.loads(await live.text())
        if message["t"] == "snapshot":
            return dict(message)


def tell(redis: Any, **more: Any) -> None:
    redis.publish(
        conf.keys.static("snapshot_channel"), json.dumps({"v": 1, "seq": 7, "level": "ok", "queues": [], **more})
    )


async def closed_with(live: Socket) -> int:
    await live.connect()
    answer = await live.receive_output(timeout=5)
    while answer["type"] != "websocket.close":
        answer = await live.receive_output(timeout=5)
    return int(answer["code"])


def test_all_sockets_share_one_subscription(redis: Any) -> None:
    jar = cookie(make_user("v", ("view_dashboard",)))

    async def run() -> None:
        sockets = [Socket(jar) for _ in range(5)]
        for live in sockets:
            assert await live.connect()
        await until_subscribed(redis)
        assert await sync_to_async(subscribers)(redis) == 1
        await sync_to_async(tell)(redis)
        for live in sockets:
            message = await snapshot(live)
            assert (message["seq"], message["level"]) == (7, "ok") and message["age"] >= 0
        for live in sockets:
            await live.disconnect()

    asyncio.run(run())
    assert eventually(lambda: len(hub) == 0, what="all mailboxes gone")


@pytest.mark.parametrize(("codenames", "code"), [((), 4403), (("operate",), 4403)])
def test_without_the_permission_it_closes(redis: Any, codenames: tuple[str, ...], code: int) -> None:
    jar = cookie(make_user("v", codenames))
    assert asyncio.run(closed_with(Socket(jar))) == code


def test_without_a_session_it_closes(redis: Any) -> None:
    assert asyncio.run(closed_with(Socket())) == 4401
    assert asyncio.run(closed_with(Socket(b"queueops_session=made-up"))) == 4401


def test_another_origin_is_refused(redis: Any) -> None:
    jar = cookie(make_user("v", ("view_dashboard",)))

    async def run() -> bool:
        return await Socket(jar, origin=b"https://evil.example").connect()

    assert asyncio.run(run()) is False


@pytest.mark.parametrize("how", ["log out", "permission taken", "user inactive", "password changed"])
def test_a_live_socket_ends_with_the_right_to_it(redis: Any, monkeypatch: Any, how: str) -> None:
    monkeypatch.setattr(consumers, "RECHECK", 0.2)
    user = make_user("v", ("view_dashboard",))
    jar = cookie(user)

    def change() -> None:
        if how == "log out":
            for session in Session.objects.all():
                if session.get_decoded().get(SESSION_KEY) == str(user.pk):
                    session.delete()
        elif how == "permission taken":
            user.user_permissions.clear()
        elif how == "user inactive":
            user.is_active = False
            user.save()
        else:
            user.set_password("another")
            user.save()

    async def run() -> int:
        live = Socket(jar)
        assert await live.connect()
        await sync_to_async(change)()
        while True:
            answer = await live.receive_output(timeout=5)
            if answer["type"] == "websocket.close":
                return int(answer["code"])
            await live.tell('{"t":"pong"}')

    assert asyncio.run(run()) == (4403 if how == "permission taken" else 4401)


def test_a_silent_reader_is_closed(redis: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(consumers, "RECHECK", 0.2)
    jar = cookie(make_user("v", ("view_dashboard",)))
    assert asyncio.run(closed_with(Socket(jar))) == 4408


def test_one_socket_too_many_is_told_to_poll(redis: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(consumers, "MAX_SOCKETS", 0)
    jar = cookie(make_user("v", ("view_dashboard",)))
    assert asyncio.run(closed_with(Socket(jar))) == 4429


def test_a_slow_reader_holds_the_newest_only() -> None:
    async def run() -> Mailbox:
        box = Mailbox(asyncio.get_running_loop())
        for seq in range(1000):
            box.put("high", str(seq), 0.0)
        return box

    box = asyncio.run(run())
    assert {alias: message for alias, (message, _) in box.take().items()} == {"high": "999"}
    assert box.skipped == 999 and not box.take()


@pytest.mark.parametrize("data", [b"", b"not json", b"[]", b"5", b"\xff\xfe"])
def test_nonsense_on_the_channel_is_ignored(data: bytes) -> None:
    assert digest(data) is None
