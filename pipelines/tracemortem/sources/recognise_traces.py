"""Traces in JSON that is not OTLP's, by the beginning of their content."""

import re

from tracemortem.sources.recognise_metrics import Told

_BEGINNING = 65536  # characters: a first span may carry long texts
_BEGINS = re.compile(r"\s*[\[{]")
_JAEGER = (
    re.compile(r'"traceID"\s*:\s*"'),
    re.compile(r'"spanID"\s*:\s*"'),
    re.compile(r'"operationName"\s*:'),
)
_ZIPKIN = (
    re.compile(r'"traceId"\s*:\s*"[0-9a-fA-F]{1,32}"'),
    re.compile(r'"id"\s*:\s*"[0-9a-fA-F]{1,16}"'),
    re.compile(r'"(?:localEndpoint|remoteEndpoint|timestamp)"\s*:'),
)
_OTLP = re.compile(r'"(?:scopeSpans|resourceSpans|scope_spans|batches|instrumentationLibrarySpans)"\s*:')


def tell(text: str) -> Told | None:
    """What JSON that begins with this text is, where it is traces; None where others are to say."""
    beginning = text[:_BEGINNING]
    if not _BEGINS.match(beginning) or _OTLP.search(beginning):
        return None
    if all(pattern.search(beginning) for pattern in _JAEGER):
        return Told("spans", "jaeger_json", "JSON of Jaeger: spans with traceID, spanID and operationName")
    if all(pattern.search(beginning) for pattern in _ZIPKIN):
        return Told(
            "spans", "zipkin_json", "JSON of Zipkin: spans with traceId, id and an endpoint or a time"
        )
    return None
