"""Lines of a list as a file: CSV or JSON lines, streamed, masked, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from django.http import StreamingHttpResponse

from dashboard.masking import mask_text
from dashboard.selectors.changelog import Entry

COLUMNS = ("time", "id", "event", "control", "key", "job", "function", "queue", "worker", "token", "by", "why")
FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def changelog(entries: Iterable[Entry], kind: str) -> StreamingHttpResponse:
    """A download of the entries; ``kind`` is one of ``FORMATS``."""
    lines = _csv(entries) if kind == "csv" else _json_lines(entries)
    answer = StreamingHttpResponse(lines, content_type=FORMATS[kind])
    answer["Content-Disposition"] = f'attachment; filename="changelog.{kind}"'
    return answer


def _row(entry: Entry) -> dict[str, str]:
    time = datetime.fromtimestamp(entry.at / 1_000_000, UTC).isoformat(timespec="milliseconds")
    plain = (time, entry.id, entry.event, entry.control, entry.key, entry.job, entry.function, entry.queue)
    texts = (*plain, entry.worker, entry.token, entry.by, entry.why)
    return {name: mask_text(text) for name, text in zip(COLUMNS, texts, strict=True)}


def _csv(entries: Iterable[Entry]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for entry in entries:
        # a spreadsheet runs what begins like a formula
        writer.writerow([f"'{text}" if text.startswith(_FORMULA) else text for text in _row(entry).values()])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def _json_lines(entries: Iterable[Entry]) -> Iterator[str]:
    for entry in entries:
        yield json.dumps({name: text for name, text in _row(entry).items() if text}, ensure_ascii=False) + "\n"
