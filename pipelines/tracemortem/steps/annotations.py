"""Step 0: what people who know say of incidents, from --annotations into meta.annotation for later runs."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import astuple
from datetime import datetime
from pathlib import Path

import polars as pl

from tracemortem import declared, folders
from tracemortem import settings as options
from tracemortem.errors import DefinitionError, SettingError
from tracemortem.explain.weigh import UNEXPLAINED
from tracemortem.incident import Annotation, Incident, QualityCheck, named_by
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.warehouse.store import Store

_KEYS = ("incident", "service", "window", "verdict", "cause", "by", "note")
_VERDICTS = ("confirmed", "dismissed")
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "said": pl.String, "service": pl.String, "started_at": pl.Datetime("us", "UTC"),
    "ended_at": pl.Datetime("us", "UTC"), "verdict": pl.String, "cause": pl.String, "author": pl.String,
    "note": pl.String,
}  # fmt: skip


def annotate(settings: Settings) -> int:
    """Put the annotations of --annotations in place of those before; returns how many hold now.

    raises   SettingError if the file cannot be read, DefinitionError for the first annotation that is wrong

    Without the option those of an earlier run on the same DuckDB file hold on; an empty list ends them.
    """
    with opened.store(settings) as store:
        if settings.annotations is not None:
            found = read(Path(settings.annotations), settings.timezone)
            rows = [astuple(annotation) for annotation in found]
            store.replace("meta.annotation", [pl.DataFrame(rows, schema=_SCHEMA, orient="row")])
        return len(kept(store))


def kept(store: Store) -> tuple[Annotation, ...]:
    """The annotations that hold, in order."""
    rows = store.frame(
        "select said, service, started_at, ended_at, verdict, cause, author, note "
        "from meta.annotation order by said"
    ).rows()
    return tuple(Annotation(*row) for row in rows)


def unmatched(annotations: Iterable[Annotation], incidents: Iterable[Incident]) -> Iterator[QualityCheck]:
    """A warning for each annotation that speaks of no incident of this report."""
    used = {incident.annotation.said for incident in incidents if incident.annotation is not None}
    for annotation in annotations:
        if annotation.said not in used:
            yield QualityCheck(
                check="annotation_unused",
                status="warn",
                text=f"An annotation speaks of {annotation.said}; no incident of this report is that one.",
                limits="What it says changes nothing here; it may belong to another day, or be misspelt.",
            )


def read(path: Path, timezone: str) -> tuple[Annotation, ...]:
    """Every annotation of a file.

    timezone  of times that carry none
    raises    SettingError if the file cannot be read, DefinitionError for the first annotation that is wrong
    """
    try:
        raw = declared.load(path, known=("annotations",))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(
            f"{path} cannot be read",
            where="--annotations",
            why=str(getattr(error, "strerror", None) or error),
            fix="name a file of YAML in UTF-8 that is there and may be read",
        ) from error
    entries = raw.get("annotations") or []
    if not isinstance(entries, list):
        raise _wrong(path, 0, f"annotations is {type(entries).__name__}", "it must be a list")
    kinds = {each.stem for each in folders.definitions("explain", "hypotheses").glob("*.yaml")}
    found: dict[str, Annotation] = {}
    for number, entry in enumerate(entries, 1):
        annotation = _annotation(entry, path, number, timezone, kinds | {UNEXPLAINED})
        if annotation.said in found:
            raise _wrong(path, number, f"{annotation.said} was annotated before", "what holds is not told")
        found[annotation.said] = annotation
    return tuple(found.values())


def _annotation(entry: object, path: Path, number: int, timezone: str, kinds: Container[str]) -> Annotation:
    """One entry, held to what an annotation is."""
    texts = _texts(entry, path, number)
    said, service, start, end = _named(texts, path, number, timezone)
    verdict, cause, note = texts.get("verdict"), texts.get("cause"), texts.get("note")
    if verdict is None and cause is None:
        raise _wrong(path, number, "it says nothing", "it has neither a verdict nor a cause")
    if verdict is not None and verdict not in _VERDICTS:
        raise _wrong(path, number, f"no verdict is called {verdict!r}", f"known are {', '.join(_VERDICTS)}")
    if cause is not None and cause not in kinds:
        raise _wrong(path, number, f"no cause is called {cause!r}", "report.schema.json lists the kinds")
    if cause is not None and verdict == "dismissed":
        raise _wrong(path, number, "it names a cause of what it dismisses", "what is no incident has none")
    if not note:
        raise _wrong(path, number, "'note' is missing", "a word against the measurement needs its reason")
    return Annotation(said, service, start, end, verdict, cause, texts.get("by"), note)


def _texts(entry: object, path: Path, number: int) -> Mapping[str, str]:
    """The keys and values of an entry, all of them texts with something in them, in one line."""
    if not isinstance(entry, dict):
        raise _wrong(path, number, f"it is {type(entry).__name__}", "an annotation is a mapping")
    for key, value in entry.items():
        if key not in _KEYS:
            raise _wrong(path, number, f"nobody reads {key!r}", f"known are {', '.join(_KEYS)}")
        if not isinstance(value, str) or not value.strip():
            raise _wrong(path, number, f"{key!r} is {value!r}", "it must be a text; quote it")
    return {key: " ".join(value.split()) for key, value in entry.items()}


def _named(
    texts: Mapping[str, str], path: Path, number: int, timezone: str
) -> tuple[str, str, datetime, datetime | None]:
    """How the incident is named, its service, and the start and end that this tells."""
    if ("incident" in texts) == ("service" in texts) or ("service" in texts) != ("window" in texts):
        raise _wrong(
            path,
            number,
            "it does not say of which incident it speaks",
            "an incident is named by its id, or by service and window together",
        )
    if "incident" in texts:
        named = texts["incident"]
        told = named_by(named)
        if told is not None:
            return named, told[1], told[0], None
        raise _wrong(path, number, f"no incident has the id {named!r}", "an id is a start and a service")
    try:
        start, end = options.span(texts["window"], timezone)
    except SettingError as error:
        raise _wrong(path, number, error.what, error.why) from error
    return f"{texts['service']} {start:%Y-%m-%dT%H:%MZ}/{end:%Y-%m-%dT%H:%MZ}", texts["service"], start, end


def _wrong(path: Path, number: int, what: str, why: str) -> DefinitionError:
    return DefinitionError(
        f"annotation {number} is wrong: {what}" if number else what,
        where=str(path),
        why=why,
        fix=(
            "write for example  {incident: 20260424T0217Z-chat, verdict: dismissed, note: load test}  or  "
            "{service: chat, window: 2026-04-24T02:17Z/2026-04-24T02:51Z, verdict: confirmed, note: seen}"
        ),
    )
