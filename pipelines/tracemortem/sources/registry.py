"""Which reader reads which kind of file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import BinaryIO

import polars as pl

from tracemortem.errors import SettingError
from tracemortem.sources import clocked, events, lines
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock, Told, clock
from tracemortem.sources.find import Found
from tracemortem.sources.lines import TextFormat
from tracemortem.sources.opened import opened

_ANY_DAY = datetime(2026, 2, 3, tzinfo=UTC)  # from which times are counted to learn how far they go


@cache
def _readers_of_otlp() -> Mapping[str, Callable[[BinaryIO], Iterator[Batch]]]:
    """Those that make OTLP of what they read: for files of other kinds their imports cost 0.2 CPU s."""
    from tracemortem.sources import otlp, otlp_documents, otlp_proto, trace_documents

    return {
        "otlp_json_lines": otlp.read,
        "otlp_json_documents": otlp_documents.read,
        "otlp_protobuf": otlp_proto.read,
        "otlp_framed": otlp_proto.read,
        "otlp_protobuf_bare": otlp_proto.read_bare,
        "jaeger_json": trace_documents.read_jaeger,
        "zipkin_json": trace_documents.read_zipkin,
    }


@dataclass(frozen=True)
class Known:
    """A format that is read: its name, its kind, and what it reads."""

    name: str
    kind: str
    title: str


def read(found: Found, told: Told | None = None) -> Iterator[Batch]:
    """The batches of a file, as `survey` found it. A skipped file and a web server's configuration hold none.

    told     what the user says of times that files leave out
    raises   InputError where the file cannot be opened, or its gzip or zstd is damaged, cut off or a bomb
    """
    if found.kind != "skipped":
        with opened(found.path) as stream:
            yield from batches(stream, found, told or Told())


def batches(stream: BinaryIO, found: Found, told: Told) -> Iterator[Batch]:
    """The same of a stream of its decompressed bytes, or of whole lines at its end."""
    if found.format in clocked.READERS:
        at = replace(clock(found.path, told), rounds=cache(lambda: _rounds(found)))
        yield from clocked.READERS[found.format](stream, at)
    elif found.format == "events_json_lines":
        yield from events.read(stream)
    elif found.text_format is not None:
        yield from lines.read(stream, found.text_format, _begun(found, found.text_format, told))
    elif found.kind in {"otlp", "spans"}:
        yield from _readers_of_otlp()[found.format](stream)


def _rounds(found: Found) -> int:
    """How many rounds of samples without a time the file holds."""
    with opened(found.path) as stream:
        return max((batch.rounds for batch in clocked.READERS[found.format](stream, Clock())), default=0)


def _begun(found: Found, form: TextFormat, told: Told) -> Clock:
    """The clock of an access log; of one whose times count from a beginning, it tells when that was."""
    at = clock(found.path, told)
    if at.last_at is None or not lines.is_counted(form):
        return at
    with opened(found.path) as stream:
        ends = [_end(batch.rows["access"]) for batch in lines.read(stream, form, Clock(_ANY_DAY))]
    return replace(at, first_at=at.last_at - (max(filter(None, ends), default=_ANY_DAY) - _ANY_DAY))


def _end(access: pl.DataFrame) -> datetime | None:
    end = access.select(pl.max_horizontal(pl.col("started_at", "finished_at").max())).item()
    return end if isinstance(end, datetime) else None


def is_zone_told(found: Found) -> bool:
    """Whether the format writes times without a zone, so that the user's counts."""
    if found.text_format is not None:
        return any(reading.zone == "local" for reading in found.text_format.readings)
    return found.format in clocked.ZONELESS


def own_formats(folder: Path) -> tuple[TextFormat, ...]:
    """The user's own access-log formats, a YAML file each; none may have the name of one that is known.

    raises   DefinitionError for a faulty one, SettingError if there is none
    """
    from tracemortem.sources import declared_formats

    found = declared_formats.load(folder, {one.name for one in known()}, is_own=True)
    if not found:
        raise SettingError(
            f"{folder} holds no format",
            where="--formats",
            why="there is no .yaml file in it" if folder.is_dir() else "it is no folder",
            fix="name the folder in which the .yaml files of your formats lie",
        )
    return found


def known(own: Sequence[TextFormat] = ()) -> tuple[Known, ...]:
    """Every format that is read, for `tracemortem formats`. own: those of the user, besides."""
    from tracemortem.sources import declared_formats

    return (
        Known(
            "otlp_json_lines",
            "otlp",
            "OTLP as JSON lines: spans, metrics and logs, as the Collector writes them",
        ),
        Known("otlp_json_documents", "otlp", "OTLP as JSON pretty-printed, in lists, or one after another"),
        Known("otlp_protobuf", "otlp", "OTLP as protobuf, each message after its length (u32, big-endian)"),
        Known(
            "otlp_framed", "otlp", "OTLP messages after their lengths, each compressed by zstd, or as JSON"
        ),
        Known("otlp_protobuf_bare", "otlp", "OTLP as protobuf, one export request and nothing else"),
        Known(
            "jaeger_json", "spans", "traces as Jaeger's UI and API give them, or Elasticsearch stores them"
        ),
        Known("zipkin_json", "spans", "traces of Zipkin, version 2"),
        *(Known(*one) for one in clocked.KNOWN),
        Known("events_json_lines", "events", "events as JSON lines with time, kind and text"),
        Known("nginx:NAME", "access_log", "any nginx log_format directive found among the inputs"),
        Known("apache:NAME", "access_log", "any Apache LogFormat directive found among the inputs"),
        *(Known(form.name, "access_log", form.title) for form in (*own, *declared_formats.formats())),
    )
