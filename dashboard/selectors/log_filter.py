"""Which entries of the changelog are wanted, judged as they are stored: a page looks at thousands to show a hundred."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields

from dashboard.selectors import store
from queueops.rdb.keys import KINDS, SEP

PREFIX = 8
"""Characters of an id that pages show: enough to look for it."""

Raw = Mapping[bytes, bytes]
Test = Callable[[Raw], bool]

_SEARCHED = (b"e", b"job", b"f", b"q", b"c", b"w", b"by", b"why")


@dataclass(frozen=True, slots=True)
class Filter:
    """What to show; an empty field shows everything. ``event`` may be a subject (``lock``) or an event.

    A function is also found by the last part of its name, a job and a worker by the first 8 characters or more.
    """

    event: str = ""
    queue: str | None = None
    function: str = ""
    job: str = ""
    control: str = ""
    about: str = ""
    """A part of the readable name or key of a control."""
    worker: str = ""
    by: str = ""
    text: str = ""
    start: int = 0
    """Nothing older than this (ms of the store's clock); 0 = all that is kept."""
    end: int = 0
    """Nothing newer than this (ms); 0 = up to now."""

    @property
    def active(self) -> bool:
        return any(getattr(self, field.name) not in ("", None, 0) for field in fields(self))

    @property
    def test(self) -> Test:
        """Says of an entry whether it passes; times are asked of Redis."""
        tests = list(self._tests())
        return tests[0] if len(tests) == 1 else lambda raw: all(passes(raw) for passes in tests)

    def _tests(self) -> Iterator[Test]:
        if self.job:
            yield _begins(b"job", self.job)
        if self.worker:
            yield _begins(b"w", self.worker)
        if self.queue is not None:
            yield lambda raw: store.text(raw.get(b"q")) == self.queue
        if self.by:
            yield lambda raw: store.text(raw.get(b"by")) == self.by
        if self.event:
            yield lambda raw: f"{store.text(raw.get(b'e'))}.".startswith(f"{self.event}.")
        if self.function:
            yield lambda raw: f".{store.text(raw.get(b'f'))}".endswith(f".{self.function}")
        if self.control:
            yield lambda raw: f"{store.text(raw.get(b'c'))}{SEP}".startswith(f"{self.control}{SEP}")
        if self.about:
            about = self.about.casefold()
            yield lambda raw: about in _named(store.text(raw.get(b"c"))).casefold()
        if self.text:
            text = self.text.casefold()
            yield lambda raw: text in store.text(b"\n".join(raw.values())).casefold()  # most fail already here
            yield lambda raw: text in store.text(b"\n".join(raw.get(name, b"") for name in _SEARCHED)).casefold()


def _begins(field: bytes, wanted: str) -> Test:
    if len(wanted) < PREFIX:
        return lambda raw: store.text(raw.get(field)) == wanted
    return lambda raw: store.text(raw.get(field)).startswith(wanted)


def _named(instance: str) -> str:
    head, _, key = instance.partition(SEP)
    return f"{head[2:] if head[:1] in KINDS else instance} {key}"
