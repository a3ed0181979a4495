"""What does report.json say? The contract's schema, filled from a diagnosis, and held to it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, date, datetime
from functools import cache
from typing import Any

import orjson
from jsonschema import Draft202012Validator

from tracemortem.findings import Placebo, Replay, Split, WhatIf
from tracemortem.folders import folder
from tracemortem.incident import Annotation, Cause, Diagnosis, Evidence, Incident

SCHEMA = "tracemortem.report/1"


def document(diagnosis: Diagnosis, *, product_version: str, created_at: datetime) -> dict[str, Any]:
    """A diagnosis as report.json says it: times RFC 3339 in UTC, durations in seconds, shares 0 to 1.

    created_at  with a time zone
    returns     plain dicts, lists, strings and numbers; None and NaN are null, and null means not known
    raises      ValueError for an instant without a time zone: it could be any hour of the day

    The order of keys and entries is the diagnosis's own, so the same diagnosis gives the same bytes.
    """
    return {
        "schema": SCHEMA,
        "product_version": product_version,
        "created_at": instant(created_at),
        "window": {
            "from": instant(diagnosis.window_from),
            "to": instant(diagnosis.window_to),
            "timezone": _text(diagnosis.timezone),
        },
        "inputs": [plain(asdict(found)) for found in diagnosis.inputs],
        "quality": [plain(asdict(check)) for check in diagnosis.quality],
        "incidents": [_incident(incident) for incident in diagnosis.incidents],
    }


def checked(report: dict[str, Any], schema: str = "report.schema.json") -> dict[str, Any]:
    """The same document, if it holds to its schema.

    raises   jsonschema.ValidationError naming the value at fault: a mistake of ours, not of the input
    """
    _validator(schema).validate(report)
    return report


def encoded(report: dict[str, Any]) -> bytes:
    """The bytes of report.json: UTF-8, two spaces, keys in the contract's order, a newline at the end."""
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = orjson.loads((folder("reports") / name).read_bytes())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def _incident(incident: Incident) -> dict[str, Any]:
    return {
        "id": _text(incident.id),
        "service": _text(incident.service),
        "status": incident.status,
        "start": instant(incident.start),
        "end": instant(incident.end),
        "onset": {"earliest": instant(incident.onset_earliest), "latest": instant(incident.onset_latest)},
        "metric": _text(incident.metric),
        "baseline": _number(incident.baseline),
        "peak": _number(incident.peak),
        "peak_minute": instant(incident.peak_minute),
        "baseline_from": _text(incident.baseline_from),
        "reason": _text(incident.reason),
        "annotation": None if incident.annotation is None else _annotation(incident.annotation),
        "impact": plain(asdict(incident.impact)),
        "causes": [_cause(cause) for cause in incident.causes],
        "not_causes": [
            {
                "kind": found.kind,
                "verdict": found.verdict,
                "text": _text(found.text),
                "evidence": _evidence(found.evidence),
            }
            for found in incident.not_causes
        ],
        "sources": [plain(asdict(source)) for source in incident.sources],
        "segments": [
            plain(asdict(segment)) | {"items": [plain(asdict(item)) for item in segment.items]}
            for segment in incident.segments
        ],
        "decomposition": _decomposition(incident.decomposition),
        "timeline": [plain(asdict(entry)) for entry in incident.timeline],
        "mitigation": [
            {
                "at": instant(action.at),
                "text": _text(action.text),
                "status": action.status,
                "evidence": _evidence(action.evidence),
            }
            for action in incident.mitigation
        ],
        "what_if": [_what_if(tried) for tried in incident.what_if],
        "signals": [plain(asdict(movement)) for movement in incident.movements],
        "alerts": [plain(asdict(alert)) for alert in incident.alerts],
        "replay": None if incident.replay is None else _replay(incident.replay),
        "placebo": None if incident.placebo is None else _placebo(incident.placebo),
        "tests": None if incident.tests is None else plain(asdict(incident.tests)),
    }


def _annotation(annotation: Annotation) -> dict[str, Any]:
    return {
        "verdict": annotation.verdict,
        "cause": annotation.cause,
        "by": None if annotation.author is None else _text(annotation.author),
        "note": _text(annotation.note),
    }


def _decomposition(split: Split | None) -> dict[str, Any]:
    if split is None:
        return {}
    return plain(asdict(split)) | {"parts": [plain(asdict(part)) for part in split.parts]}


def _replay(replay: Replay) -> dict[str, Any]:
    resets = [plain(asdict(reset)) for reset in replay.resets]
    pairs = {"hits": replay.hits, "kv_tokens": replay.kv_tokens}
    lists = {name: None if pair is None else [_number(one) for one in pair] for name, pair in pairs.items()}
    law = [_number(one) for one in replay.law]
    return plain(asdict(replay)) | lists | {"law": law, "resets": resets}


def _placebo(placebo: Placebo) -> dict[str, Any]:
    return plain(asdict(placebo)) | {"rules": [plain(asdict(rule)) for rule in placebo.rules]}


def _what_if(tried: WhatIf) -> dict[str, Any]:
    predicted: dict[str, Any] = {}
    if tried.predicted is not None:
        predicted = {
            key: plain(value) if isinstance(value, dict) else value
            for key, value in asdict(tried.predicted).items()
        }
    return plain(asdict(tried)) | {"predicted": predicted, "assumes": list(tried.assumes)}


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "kind": cause.kind,
        "role": cause.role,
        "verdict": cause.verdict,
        "confidence": _number(cause.confidence),
        "share": {
            "value": _number(cause.share),
            "low": _number(cause.share_low),
            "high": _number(cause.share_high),
        },
        "text": _text(cause.text),
        "evidence": _evidence(cause.evidence),
    }


def _evidence(facts: Iterable[Evidence]) -> list[dict[str, Any]]:
    return [plain(asdict(fact)) for fact in facts]


def plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as JSON has it: instants in UTC, null for what is no number, and text that is UTF-8."""
    return {key: _value(value) for key, value in record.items()}


def _value(value: Any) -> Any:
    match value:
        case datetime():
            return instant(value)
        case date():
            return value.isoformat()
        case list():
            return [_value(one) for one in value]
        case str():
            return _text(value)
        case float():
            return _number(value)
    return value


def instant(at: datetime | None) -> str | None:
    """RFC 3339 in UTC; raises ValueError for one without a time zone."""
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError(f"{at.isoformat()} carries no time zone")
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _text(text: str) -> str:
    """UTF-8 for certain: a file name that is not carries lone surrogates, which JSON cannot hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
