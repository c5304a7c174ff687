"""How the shop's jobs talk to :mod:`queueops.demo.courier`: every call has a timeout, every failure a name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

from queueops import dependency
from queueops.demo.courier import address_file

TIMEOUT = 5
"""Seconds that a partner may stay silent, per read."""


class PartnerDown(Exception):
    """Nobody answers: worth another try later."""


class CourierBusy(Exception):
    """The courier takes no parcels just now: worth another try later."""


class AddressRejected(Exception):
    """The courier will never deliver there: trying again does not help."""


class PrinterOffline(Exception):
    """The invoice printer is out of paper."""


class FeedTruncated(Exception):
    """A price list ended early: nothing of it was stored."""


def buy_label(order_id: int, street: str, parcels: int = 1) -> str:
    """Hand parcels to the courier; returns the label."""
    with dependency("courier-api"):
        status, answer = _post("/labels", {"order": order_id, "street": street, "parcels": parcels})
        if status == 503:
            raise CourierBusy(answer["error"])
    if status == 422:
        raise AddressRejected(answer["error"])
    return str(answer["label"])


def print_page(invoice_id: int) -> None:
    """Send an invoice to the printer."""
    with dependency("printer"):
        status, answer = _post("/print", {"invoice": invoice_id})
        if status == 503:
            raise PrinterOffline(answer["error"])


def price_list(supplier: str) -> list[tuple[int, int]]:
    """``(book id, cents)`` pairs of a supplier, complete or not at all."""
    with dependency("suppliers"), _asked("GET", f"/prices/{supplier}") as answer:
        if answer.status != 200:
            raise LookupError(f"{supplier} has no price list")
        rows = [line.decode().strip().split(",") for line in answer]
    if len(rows) != int(answer.headers["X-Lines"]):
        raise FeedTruncated(f"{supplier} sent {len(rows)} of {answer.headers['X-Lines']} lines")
    return [(int(book), int(cents)) for book, cents in rows]


def _post(path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    with _asked("POST", path, json.dumps(body)) as answer:
        return answer.status, json.load(answer)


@contextmanager
def _asked(method: str, path: str, body: str | None = None) -> Iterator[HTTPResponse]:
    """The answer to one request; :class:`PartnerDown` when there is none, or only half of one."""
    try:
        address = address_file().read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise PartnerDown("the courier has not opened yet") from error
    connection = HTTPConnection(address, timeout=TIMEOUT)
    try:
        connection.request(method, path, body)
        yield connection.getresponse()
    except (OSError, HTTPException) as error:
        raise PartnerDown(str(error) or type(error).__name__) from error
    finally:
        connection.close()
