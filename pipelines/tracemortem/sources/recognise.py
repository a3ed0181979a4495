"""What a file is, by the beginning of its content; its name says nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson
import polars as pl

from tracemortem.sources import (
    events,
    recognise_messages,
    recognise_metrics,
    recognise_traces,
    refused,
    wrapped,
)
from tracemortem.sources.apache_format import apache_compiled, apache_directives
from tracemortem.sources.lines import TextFormat, reads
from tracemortem.sources.log_format import Directive, compiled, directives
from tracemortem.sources.opened import HEAD, foreign

LINES = 200
JSON_LINES = {"otlp_json_lines", "events_json_lines"}
_AT_LEAST = 0.5
_STAMP = 10  # digits of a timestamp, with the blank before it
_JSON_BEGINS = re.compile(r'\s*(?:\{|\[\s*[\[{"])')  # a line may well begin with [time]
_SAMPLE = re.compile(
    r"(?:[a-zA-Z_:][a-zA-Z0-9_:.]*)?(?:[ \t]*\{.*\})?[ \t]*[+-]?(?:[0-9.]+(?:e[+-]?[0-9]+)?|inf|nan)"
    r"(?P<stamp>[ \t]+-?[0-9.]+)?[ \t]*(?: # \{.*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Recognised:
    """What a file is. kind `skipped` means it is not read, `text` that it may be an access log.

    reason   why, a sentence
    fix      what would make it readable; only where skipped
    runner_up  the access-log format that came second, and how many of the first lines it reads; "": none does
    """

    kind: str
    format: str
    reason: str
    fix: str = ""
    text_format: TextFormat | None = None
    runner_up: str = ""


_BLANK = Recognised("skipped", "unknown", "it holds nothing but blank lines", "check the export")


def recognise(head: bytes) -> Recognised:
    """What a file is that begins with these decompressed bytes; `which_format` tells access logs apart."""
    what = _recognised(head)
    return (behind_cut(head) or what) if what.kind == "text" else what


def behind_cut(head: bytes) -> Recognised | None:
    """What a file of JSON lines is that begins with the rest of a line, which a rotation cut; else None."""
    _, _, behind = head.partition(b"\n")
    if not behind.lstrip().startswith(b"{"):
        return None
    what = _recognised(behind)
    if what.format not in JSON_LINES:
        return None
    return replace(what, reason=f"{what.reason}, behind the rest of a line that was cut")


def _recognised(head: bytes) -> Recognised:
    if of := recognise_messages.begins(head):
        return Recognised("otlp", *of)
    if strange := foreign(head):
        return Recognised("skipped", "unknown", f"it is {strange[0]}", strange[1])
    lines = whole_lines(head)
    if not lines:
        return _BLANK
    text = "\n".join(lines)
    told = recognise_metrics.tell(lines, text)
    if known := _known(text, is_early=True) or (told and Recognised(*told)):
        return known
    if _JSON_BEGINS.match(text) and not _SAMPLE.fullmatch(lines[0]):
        told = recognise_traces.tell(text)
        return Recognised(*told) if told else _json(lines, text)
    return (
        _configuration(text) or _metrics_text(lines) or _known(text) or Recognised("text", "unknown", "text")
    )


def which_format(head: bytes, candidates: Sequence[TextFormat]) -> Recognised:
    """The access-log format that reads most of the first lines, at least half of them but for error lines.

    candidates   likeliest first: where two read equally many lines, the user's own is taken, then the one
                 that gives more columns, then the one that stands first
    """
    lines = whole_lines(head)[:LINES]
    if not lines:  # what was looked at before may have gone further than this head
        return _BLANK
    texts, stamped = wrapped.bare(lines), wrapped.bare(lines, keeps_stamp=True)
    is_beside = texts.map_elements(refused.is_beside, pl.Boolean, skip_nulls=False)
    if (
        not is_beside.all()
    ):  # on a bad night there is an error line to each request, and the log is none the less
        texts, stamped = texts.filter(~is_beside), stamped.filter(~is_beside)
    scored = [(reads(texts, form), form) for form in candidates]
    if not stamped.equals(texts):  # the time before the line may be a container's, or the line's own
        scored += [(reads(stamped, form), replace(form, keeps_stamp=True)) for form in candidates]
    scored.sort(key=_preference, reverse=True)  # stable: the likelier first where they tie
    read, best = scored[0]
    others = ((number, form) for number, form in scored if form.name != best.name)
    second = next((f"{form.name} ({number})" for number, form in others if number), "")
    lines = (stamped if best.keeps_stamp else texts).to_list()
    extent = f"{read} of the first {len(lines)} lines"
    if read and read >= _AT_LEAST * len(lines):
        reason = f"{best.title} reads {extent}"
        return Recognised("access_log", best.name, reason, text_format=best, runner_up=second)
    nearest = f"the nearest, {best.name}, reads {extent}" if read else f"it begins: {lines[0][:60]}"
    return Recognised(
        "skipped",
        "unknown",
        f"text of no known format; {nearest}",
        "give the nginx configuration with its log_format beside it, or declare the format (--formats DIR)",
    )


def _preference(scored: tuple[int, TextFormat]) -> tuple[int, bool, bool, int]:
    read, form = scored
    return read, form.is_own, not form.is_last_resort, len(form.columns)


def whole_lines(head: bytes) -> list[str]:
    """The lines that are not blank, without the last where the head may cut it off."""
    text = head.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").decode("utf-8", "replace")
    lines = text.split("\n")
    if len(head) >= HEAD and len(lines) > 1:
        lines.pop()
    return [line.rstrip("\r") for line in lines if line.strip()]


def _json(lines: list[str], text: str) -> Recognised:
    from tracemortem.sources import recognise_otlp  # with what OTLP looks like: 0.1 CPU s

    entries = [entry for line in lines[:LINES] if isinstance(entry := _parsed(line), dict)]
    otlp = sum(recognise_otlp.is_envelope(entry) for entry in entries)
    happened = sum(set(entry).issuperset(events.KEYS) for entry in entries)
    if otlp >= max(happened, 1) and not lines[0].lstrip().startswith("["):
        return Recognised(
            "otlp", "otlp_json_lines", "JSON lines with resourceSpans, resourceMetrics or resourceLogs"
        )
    if happened and happened >= _AT_LEAST * len(lines[:LINES]):
        return Recognised("events", "events_json_lines", "JSON lines with time, kind and text")
    if recognise_otlp.is_of_documents(text):
        return Recognised("otlp", "otlp_json_documents", "JSON documents of OTLP that are not one a line")
    if known := _known(text):
        return known
    document = entries[0] if entries else _parsed(text)
    shown = ", ".join(sorted(document)[:6]) if isinstance(document, dict) and document else ""
    return Recognised(
        "text",
        "unknown",
        f"JSON that is no telemetry known here{f' (keys {shown})' if shown else ''}",
        "leave it out, or export it as OTLP JSON lines, Prometheus text or an access log",
    )


def _known(text: str, *, is_early: bool = False) -> Recognised | None:
    """What is read by none and is known nevertheless: skipped, unless an access-log format reads it."""
    told = refused.told(text, is_early=is_early)
    return Recognised("text", told.name, told.what, told.fix) if told else None


def _parsed(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _configuration(text: str) -> Recognised | None:
    if "log_format" in text and (found := directives(text)):
        return _log_formats("nginx log_format", found, [compiled(one) for one in found])
    if logged := apache_directives(text):
        return _log_formats("Apache LogFormat", logged, [apache_compiled(one) for one in logged])
    return None


def _log_formats(of: str, found: Sequence[Directive], read: Sequence[TextFormat | str]) -> Recognised:
    names = ", ".join(directive.name for directive in found)
    refused = [why for why in read if isinstance(why, str)]
    return Recognised("log_format", f"{of} {names}", "; ".join([f"it defines {names}", *refused]))


def _metrics_text(lines: list[str]) -> Recognised | None:
    samples = [line for line in lines if not line.lstrip().startswith("#")][:LINES]
    is_typed = any(re.match(r"#[ \t]*(?:(?:TYPE|HELP|UNIT)[ \t]|EOF$)", line) for line in lines)
    if is_typed and not samples:
        why = "Prometheus text that names metrics and holds no sample"
        return Recognised("skipped", "prometheus_text", why, "check what was scraped; nothing was measured")
    matches = [match for line in samples if (match := _SAMPLE.fullmatch(line))]
    is_plain_table = not is_typed and not any(
        "{" in match[0] or len(match["stamp"] or "") > _STAMP for match in matches
    )
    if not matches or is_plain_table or len(matches) < _AT_LEAST * len(samples):
        return None
    reason = f"{len(matches)} of the first {len(samples)} lines are samples of Prometheus text"
    is_dump = bool(samples) and samples[0].startswith("{__name__=")
    return Recognised("metrics_text", "tsdb_dump" if is_dump else "prometheus_text", reason)
