"""Controls (the shared thing and its definition) and claims (what one holder needs of it), and their stored form."""

from __future__ import annotations

import hashlib
import json
import json.encoder
from dataclasses import dataclass
from typing import Any

from queueops.conf import conf
from queueops.rdb import keys

TEXT_LIMIT = 1000
"""Characters of a rendered key kept for display and search."""

_encode = json.JSONEncoder(separators=(",", ":")).encode
_quote = json.encoder.encode_basestring_ascii


def micros(seconds: float | None) -> int:
    """Seconds as whole µs; None is 0."""
    return 0 if seconds is None else round(seconds * 1_000_000)


@dataclass(frozen=True, slots=True)
class Control:
    """A named shared thing. ``kind`` is lock, semaphore or rate; each kind has its own namespace of names.

    ``limit`` holders, or starts in ``per`` seconds. ``lease`` in seconds, None = ``QUEUEOPS["LEASE"]``.
    """

    kind: str
    name: str
    limit: int = 1
    per: float = 0.0
    strategy: str = ""
    burst: int = 0
    lease: float | None = None

    @property
    def id(self) -> str:
        return keys.control_id(self.kind, self.name)

    def lease_micros(self) -> int:
        if self.kind == "rate":
            return 0
        return micros(conf.LEASE if self.lease is None else self.lease)

    def definition(self) -> dict[str, Any]:
        """As published to Redis; times in µs."""
        return {
            "kind": self.kind,
            "name": self.name,
            "limit": self.limit,
            "per": micros(self.per),
            "strategy": self.strategy,
            "burst": self.burst,
            "lease": self.lease_micros(),
        }


@dataclass(frozen=True)
class Claim:
    """What one job needs of one control: ``weight`` of the instance named by ``key``; times in µs.

    ``otherwise`` is "wait" or "drop". A declared middleware makes them; so may ``Middleware.claims``, most easily
    as ``WithSemaphore("s3", limit=4, key="eu").claims(call)``.
    """

    instance: str
    control: str
    limit: int = 1
    weight: int = 1
    per: int = 0
    strategy: str = ""
    burst: int = 0
    lease: int = 0
    otherwise: str = "wait"
    release_after: int = 0
    max_wait: int = 0
    text: str = ""

    @property
    def kind(self) -> str:
        return keys.KINDS[self.control[0]]

    @property
    def name(self) -> str:
        return self.control[2:]

    def of(self, instance: str, text: str, weight: int) -> Claim:
        """The same claim on another instance. Copied by hand: every enqueue does this for each claim."""
        other = object.__new__(Claim)
        other.__dict__.update(self.__dict__, instance=instance, text=text, weight=weight, _common=self._common_json())
        return other

    def encoded(self) -> str:
        """Its JSON."""
        return f'{{"i":{_quote(self.instance)},"t":{_quote(self.text)},"w":{self.weight},{self._common_json()}'

    def _common_json(self) -> str:
        """The part of its JSON that all claims made by one middleware share."""
        common: str | None = self.__dict__.get("_common")
        if common is None:
            common = _encode(
                {
                    "c": self.control,
                    "k": self.control[0],
                    "n": self.limit,
                    "per": self.per,
                    "s": self.strategy,
                    "b": self.burst,
                    "l": self.lease,
                    "o": self.otherwise,
                    "ra": self.release_after,
                    "mw": self.max_wait,
                }
            )[1:]
            self.__dict__["_common"] = common
        return common


def instance_and_text(kind: str, name: str, key: str) -> tuple[str, str]:
    """``(instance id, readable text)`` of a key. A key that is not valid Unicode is hashed, like one that is too long.

    Lone surrogates are legal in Python strings but neither in UTF-8 nor in the JSON that scripts decode.
    """
    if key.isascii():
        return keys.instance(kind, name, key), key[:TEXT_LIMIT]
    raw = key.encode("utf-8", "surrogatepass")
    text = raw.decode("utf-8", "replace")
    if text != key:
        key = "#not-utf8:" + hashlib.sha256(raw).hexdigest()
    return keys.instance(kind, name, key), text[:TEXT_LIMIT]
