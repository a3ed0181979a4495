"""Zipkin's JSON, version 2 -> spans as OTLP."""

from collections.abc import Mapping
from typing import Any

from tracemortem.sources import trace_words as words
from tracemortem.sources.trace_words import NoSpanError, Spans


def spans(document: Any) -> Spans:
    """The spans of a list, of a list of traces, or a span alone.

    A span without `kind` is internal. One without `duration` was never finished, or its end was not told: it
    is refused, as there is no end to store. `remoteEndpoint` is the peer's address, not the client's.
    """
    found = Spans()
    pending = [document]
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending += reversed(one)
            continue
        try:
            _add(one, found)
        except NoSpanError as error:
            found.refuse(str(error), one)
    return found


def _add(span: Any, found: Spans) -> None:
    if not isinstance(span, dict) or "traceId" not in span:
        raise NoSpanError("no span of Zipkin: it has no traceId")
    start = words.nanoseconds(span.get("timestamp"), "timestamp")
    duration = words.nanoseconds(span.get("duration"), "duration")
    tags = {key: value for key, value in _inner(span, "tags").items() if isinstance(value, str)}
    service = _inner(span, "localEndpoint").get("serviceName")
    remote = _inner(span, "remoteEndpoint")
    attributes = [words.text(key, value) for key, value in tags.items()]
    attributes += [
        words.text("network.peer.address", remote[version])
        for version in ("ipv6", "ipv4")  # of an attribute that stands twice the last counts
        if isinstance(remote.get(version), str)
    ]
    kind = span.get("kind")
    found.add(
        str(service),
        [words.text("service.name", service)] if isinstance(service, str) and service else [],
        words.scope(tags),
        {
            "traceId": words.trace_id(span["traceId"]),
            "spanId": words.span_id(span.get("id")),
            "parentSpanId": words.span_id(span.get("parentId")),
            "name": span.get("name"),
            "kind": words.KINDS["internal"] if kind is None else words.KINDS.get(str(kind).lower(), 0),
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + duration),
            "attributes": attributes,
            "status": {"code": _status(tags), "message": _message(tags)},
        },
    )


def _inner(span: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = span.get(name)
    return found if isinstance(found, dict) else {}


def _status(tags: Mapping[str, str]) -> int:
    if tags.get("error", "false").lower() != "false":  # its value is a message, or empty
        return words.ERROR
    return words.status(tags)


def _message(tags: Mapping[str, str]) -> str:
    told = tags.get("otel.status_description") or tags.get("error", "")
    return "" if told.lower() in {"true", "false"} else told
