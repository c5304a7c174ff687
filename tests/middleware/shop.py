"""Jobs of a bookshop, as a project would declare them."""

from __future__ import annotations

from typing import Any

from queueops import Middleware, Quarantine, RateLimited, WithoutOverlapping, WithSemaphore, controlled


@controlled(
    WithoutOverlapping(key="book:{book_id}"),
    WithSemaphore("shop-s3", limit=4),
    RateLimited("shop-mail", key="{user_id}", limit=50, per=60),
    Quarantine(after=5),
)
def crunch_sales(book_id: int, user_id: int = 7, *, full: bool = False) -> str:
    return f"{book_id}/{user_id}/{full}"


alias = crunch_sales


def undeclared(book_id: int) -> int:
    return book_id


class Report:
    def __init__(self, pk: int) -> None:
        self.pk = pk

    @controlled(WithoutOverlapping(key="report:{self.pk}"))
    def build(self, day: str) -> None: ...

    @classmethod
    @controlled(WithoutOverlapping(key="{day}"))
    def build_all(cls, day: str) -> None: ...

    @staticmethod
    @controlled(WithoutOverlapping(key="{day}"))
    def tidy(day: str) -> None: ...

    def __call__(self, day: str) -> None: ...


@controlled(WithoutOverlapping(key="{shop}"))
def open_arguments(**options: Any) -> None: ...


SEEN: list[Any] = []


@controlled(RateLimited("shop-two-an-hour", limit=2, per=3600))
def limited(number: int) -> None:
    SEEN.append(number)


@controlled(RateLimited("shop-all", limit=100, per=3600), RateLimited("shop-tenant", key="{tenant}", limit=2, per=3600))
def for_tenant(tenant: str) -> None:
    SEEN.append(tenant)


@controlled(WithSemaphore("shop-per-tenant", key="{tenant}", limit=1))
def in_turn(tenant: str) -> None:
    SEEN.append(tenant)


@controlled(WithoutOverlapping(key="{book}"))
def own_lock(book: int) -> None:
    SEEN.append(("own", book))


@controlled(WithoutOverlapping("shop-ledger", key="{book}"))
def shared_lock(book: int) -> None:
    SEEN.append(("shared", book))


@controlled(WithoutOverlapping("shop-ledger", key="{entry}"))
def also_shared(entry: int) -> None:
    SEEN.append(("also", entry))


@controlled(WithoutOverlapping("shop-drop", otherwise="drop"))
def dropping() -> None:
    SEEN.append("dropped?")


@controlled(WithoutOverlapping("shop-return", release_after=600))
def returning() -> None:
    SEEN.append("returned?")


@controlled(WithoutOverlapping("shop-boom"))
def raising() -> None:
    raise ValueError("boom")


class Noting(Middleware):
    """Notes what it sees."""

    def __init__(self, name: str) -> None:
        self.name = name

    def around(self, job: Any, call_next: Any) -> Any:
        SEEN.append(f"{self.name} in")
        try:
            return call_next()
        finally:
            SEEN.append(f"{self.name} out")

    def settled(self, job: Any, outcome: str) -> None:
        SEEN.append(f"{self.name} {outcome}")


@controlled(Noting("a"), Noting("b"))
def noted(fails: bool) -> str:
    if fails:
        raise ValueError("boom")
    return "done"
