"""Lines of a list as a file: CSV or JSON lines, streamed, masked, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain

from django.http import HttpResponse, StreamingHttpResponse

from dashboard.masking import mask_text
from dashboard.selectors.changelog import Entry
from dashboard.timelines import Chart

COLUMNS = ("time", "id", "event", "control", "key", "job", "function", "queue", "worker", "token", "by", "why")
FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def changelog(entries: Iterable[Entry], kind: str) -> StreamingHttpResponse:
    """A download of the entries; ``kind`` is one of ``FORMATS``."""
    lines = _csv(entries) if kind == "csv" else _json_lines(entries)
    answer = StreamingHttpResponse(lines, content_type=FORMATS[kind])
    answer["Content-Disposition"] = f'attachment; filename="changelog.{kind}"'
    return answer


def chart(made: Chart | None) -> HttpResponse:
    """All points of a chart as CSV: time (UTC), a column for each line, what was done meanwhile. A gap is empty."""
    answer = HttpResponse("".join(_points(made)), content_type=FORMATS["csv"])
    answer["Content-Disposition"] = f'attachment; filename="{made.name if made else "chart"}.csv"'
    return answer


def _points(made: Chart | None) -> Iterator[str]:
    if made is None:
        yield "time\r\n"
        return
    head = ["time", *(track.name for track in made.tracks), "meanwhile"]
    rows = (
        [
            datetime.fromtimestamp(made.start + place * made.step, UTC).isoformat(),
            *("" if track.values[place] is None else str(track.values[place]) for track in made.tracks),
            "; ".join(f"{m.verb} {m.target} ({m.actor}: {m.reason})" for m in made.marks_at(place)),
        ]
        for place in range(made.length)
    )
    yield from _lines([head, *rows])


def _lines(rows: Iterable[Iterable[str]]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    for row in rows:
        # a spreadsheet runs what begins like a formula
        writer.writerow([f"'{text}" if text.startswith(_FORMULA) else text for text in map(mask_text, row)])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _row(entry: Entry) -> dict[str, str]:
    time = datetime.fromtimestamp(entry.at / 1_000_000, UTC).isoformat(timespec="milliseconds")
    plain = (time, entry.id, entry.event, entry.control, entry.key, entry.job, entry.function, entry.queue)
    texts = (*plain, entry.worker, entry.token, entry.by, entry.why)
    return {name: mask_text(text) for name, text in zip(COLUMNS, texts, strict=True)}


def _csv(entries: Iterable[Entry]) -> Iterator[str]:
    yield from _lines(chain([COLUMNS], (_row(entry).values() for entry in entries)))


def _json_lines(entries: Iterable[Entry]) -> Iterator[str]:
    for entry in entries:
        yield json.dumps({name: text for name, text in _row(entry).items() if text}, ensure_ascii=False) + "\n"
