"""Jobs of a bookshop, as a project would declare them."""

from __future__ import annotations

from typing import Any

from queueops import Quarantine, RateLimited, WithoutOverlapping, WithSemaphore, controlled


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
