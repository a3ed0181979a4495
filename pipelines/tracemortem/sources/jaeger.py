"""Jaeger's JSON, of its UI and API and as Elasticsearch stores it -> spans as OTLP."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address
from typing import Any

from tracemortem.sources import trace_words as words
from tracemortem.sources.trace_words import NoSpanError, Spans

_INT32 = 0xFFFFFFFF

Tags = Mapping[str, Any]


def spans(document: Any) -> Spans:
    """The spans of an answer of the API (`data`), a trace, a list of them, or a span with its process inside.

    The parent is the first that a span is CHILD_OF in its own trace. Ids are filled up with zeros. Of a tag
    only texts, numbers and truth values are kept, whether or not they are written as texts.
    """
    found = Spans()
    for trace in _traces(document, found):
        processes = trace.get("processes")
        for span in trace["spans"]:
            try:
                _add(span, processes if isinstance(processes, dict) else {}, found)
            except NoSpanError as error:
                found.refuse(str(error), span)
    return found


def _traces(document: Any, found: Spans) -> Iterator[dict[str, Any]]:
    if isinstance(document, list):
        for one in document:
            yield from _traces(one, found)
        return
    given = document if isinstance(document, dict) else {}
    given = given["_source"] if isinstance(given.get("_source"), dict) else given
    if isinstance(given.get("data"), list):
        yield from _traces(given["data"], found)
        if isinstance(given.get("errors"), list):
            yield from _traces(given["errors"], found)
    elif isinstance(given.get("spans"), list):
        yield given
    elif "spanID" in given:
        yield {"spans": [given]}
    else:
        found.refuse("no trace of Jaeger: it has no spans", document)


def _add(span: Any, processes: Mapping[str, Any], found: Spans) -> None:
    if not isinstance(span, dict):
        raise NoSpanError("a span is an object")
    number = str(span.get("processID", ""))
    process = span.get("process") or processes.get(number)
    if not isinstance(process, dict):
        raise NoSpanError(f"its process {number} is not told")
    start = words.nanoseconds(span.get("startTime"), "startTime")
    duration = words.nanoseconds(span.get("duration"), "duration")
    attributes = _attributes(span.get("tags"))
    tags = {one["key"]: next(iter(one["value"].values())) for one in attributes}
    service = process.get("serviceName")
    resource = [words.text("service.name", service)] if isinstance(service, str) else []
    resource += _attributes(process.get("tags"))
    # a process inside its span has no number to be known by
    whose = number or repr(resource)
    found.add(
        whose,
        resource,
        words.scope(tags),
        {
            "traceId": words.trace_id(span.get("traceID")),
            "spanId": words.span_id(span.get("spanID")),
            "parentSpanId": words.span_id(_parent(span)),
            "name": span.get("operationName"),
            "kind": words.KINDS.get(str(tags.get("span.kind")).lower(), 0),
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + duration),
            "attributes": attributes,
            "status": {"code": _status(tags), "message": str(tags.get("otel.status_description", ""))},
        },
    )


def _parent(span: Mapping[str, Any]) -> Any:
    references = span.get("references")
    for one in references if isinstance(references, list) else ():
        if (
            isinstance(one, dict)
            and one.get("refType") == "CHILD_OF"
            and words.trace_id(one.get("traceID")) == words.trace_id(span.get("traceID"))
        ):
            return one.get("spanID")
    return span.get("parentSpanID")


def _status(tags: Tags) -> int:
    if tags.get("error") in (True, "true"):
        return words.ERROR
    return words.status(tags)


def _attributes(tags: object) -> list[dict[str, Any]]:
    if not isinstance(tags, list):
        return []
    read = ((tag.get("key"), _value(tag)) for tag in tags if isinstance(tag, dict))
    return [{"key": key, "value": value} for key, value in read if isinstance(key, str) and value]


def _value(tag: Mapping[str, Any]) -> dict[str, Any]:
    """The value of a tag; {} where it is none that we keep. Elasticsearch stores all of them as texts."""
    kind, value = tag.get("type"), tag.get("value")
    if kind == "binary":
        return {}
    if kind == "bool" and value in (True, False, "true", "false"):
        return {"boolValue": value in (True, "true")}
    if kind == "int64" and isinstance(value, int | str):
        return (
            _address(int(value))
            if tag.get("key") == "peer.ipv4" and _is_packed(value)
            else {"intValue": str(value)}
        )
    if isinstance(value, float | int) and not isinstance(value, bool):
        return {"doubleValue": value}
    return {"stringValue": value} if isinstance(value, str) else {}


def _is_packed(value: int | str) -> bool:
    return isinstance(value, int) or value.lstrip("-").isdecimal()


def _address(packed: int) -> dict[str, Any]:
    return {"stringValue": str(IPv4Address(packed & _INT32))}
