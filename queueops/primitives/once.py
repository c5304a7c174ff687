"""once: a side effect that is not repeated, though its job runs again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import IntegrityError, router, transaction
from django.utils import timezone

from queueops.primitives.errors import DeclarationError
from queueops.primitives.options import YEAR, seconds


@contextmanager
def once(key: str, *, keep: float | timedelta = 30 * 86400, using: str | None = None) -> Iterator[bool]:
    """True for the first who comes with ``key``, False for everybody after, for ``keep`` seconds.

    ::

        with once(f"charge:{order_id}") as first:
            if first:
                Payment.objects.create(...)

    The block runs in a transaction of the database ``using`` (the caller's own, if there is one), and the trace
    commits with what the block writes there: both or neither. A second one that comes meanwhile waits for the first.
    A call to the outside is not undone with it: give such a service ``current_execution().token`` or the key.
    """
    from queueops.models import OnceDone

    if not isinstance(key, str) or not key:
        raise DeclarationError(f"once: the key must be a text that names the side effect, not {key!r}")
    lasts = timedelta(seconds=seconds("once", "keep", keep, most=10 * YEAR))
    using = using or router.db_for_write(OnceDone)
    hashed = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    shown = key[:500].encode("utf-8", "replace").decode().replace("\x00", " ")
    with transaction.atomic(using=using):
        now = timezone.now()
        rows = OnceDone.objects.using(using)
        # a trace that is over is taken over by exactly one
        first = bool(rows.filter(key_hash=hashed, keep_until__lte=now).update(at=now, keep_until=now + lasts))
        if not first:
            try:
                with transaction.atomic(using=using):
                    rows.create(key_hash=hashed, key=shown, at=now, keep_until=now + lasts)
                first = True
            except IntegrityError:
                first = False
        yield first
