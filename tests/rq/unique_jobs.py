"""Unique job functions of these tests."""

from __future__ import annotations

from typing import Any

from rq import Retry

from queueops import Unique, WithoutOverlapping, controlled

CALLS: list[Any] = []


@controlled(Unique("until_executing", key="{book}"))
def until_executing(book: int, fail: int = 0) -> None:
    CALLS.append(book)
    if len(CALLS) <= fail:
        raise ValueError("again")


@controlled(Unique("until_executed", key="{book}"))
def until_executed(book: int, fail: int = 0) -> None:
    CALLS.append(book)
    if len(CALLS) <= fail:
        raise ValueError("again")


@controlled(Unique("until_expired", key="{book}", ttl=600))
def until_expired(book: int) -> None:
    CALLS.append(book)


@controlled(Unique("while_executing", key="{book}"))
def while_executing(book: int) -> None:
    CALLS.append(book)


@controlled(Unique("until_and_while_executing", key="{book}"))
def until_and_while(book: int) -> None:
    CALLS.append(book)


@controlled(Unique("until_executed", key="{book}", on_conflict="raise"))
def raises(book: int) -> None:
    CALLS.append(book)


@controlled(Unique("until_executed", key="{book}", on_conflict="reject"))
def rejects(book: int, n: int = 0) -> None:
    CALLS.append((book, n))


@controlled(Unique("until_executed", key="{book}", on_conflict="replace"))
def replaces(book: int, n: int = 0) -> None:
    CALLS.append((book, n))


@controlled(Unique("until_executed", key="{book}", on_conflict="reschedule", delay=5))
def reschedules(book: int, n: int = 0) -> None:
    CALLS.append((book, n))


@controlled(Unique("until_executed", key="{book}", on_conflict="coalesce"))
def coalesces(book: int, n: int = 0) -> None:
    CALLS.append((book, n))


@controlled(Unique("until_executed"))
def all_arguments(*args: Any, **kwargs: Any) -> None:
    CALLS.append((args, kwargs))


@controlled(Unique("until_executed", key="{book}"), WithoutOverlapping("shelf"))
def shelved(book: int) -> None:
    CALLS.append(book)


@controlled(Unique("until_executed", key="{book}", across_functions=True, across_queues=True))
def one(book: int) -> None:
    CALLS.append(book)


@controlled(Unique("until_executed", key="{book}", across_functions=True, across_queues=True))
def other(book: int) -> None:
    CALLS.append(book)


def plain(*args: Any) -> None:
    CALLS.append(args)


LATER = Retry(max=3, interval=60)
