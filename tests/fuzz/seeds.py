"""A small file of every format that is read, for mutation; made here, or out of a format's own samples."""

import base64
import gzip
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import yaml
from fuzz.texts import TEXTS, VARIANTS
from google.protobuf.json_format import Parse
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tracemortem import folders

_RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": 'vllm "é"'}}]}
_IDS = ("5b8aa5a2d2c872e8321cf37308d69df2", "051581bf3cb55c13")
_SPAN = {
    "traceId": _IDS[0],
    "spanId": _IDS[1],
    "parentSpanId": "",
    "name": "llm_request",
    "kind": 2,
    "startTimeUnixNano": "1770116527000000000",
    "endTimeUnixNano": "1770116528500000000",
    "attributes": [
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "2361"}},
        {"key": "gen_ai.latency.time_to_first_token", "value": {"doubleValue": 0.51}},
        {"key": "tags", "value": {"arrayValue": {"values": [{"boolValue": True}, {"stringValue": "a\\nb"}]}}},
    ],
    "events": [{"timeUnixNano": "1770116527000000001", "name": "first"}],
    "status": {"code": 2, "message": "bad"},
}
_LOG = {
    "timeUnixNano": "1770116527000000000",
    "severityNumber": 9,
    "severityText": "INFO",
    "body": {"kvlistValue": {"values": [{"key": "k", "value": {"intValue": "1"}}]}},
    "attributes": [{"key": "http.status", "value": {"stringValue": "200"}}],
}
_AT = {"timeUnixNano": "1770116527000000000"}
_METRICS = [
    {"name": "g", "gauge": {"dataPoints": [{**_AT, "asDouble": 1.5}]}},
    {
        "name": "s",
        "sum": {"isMonotonic": True, "aggregationTemporality": 2, "dataPoints": [{**_AT, "asInt": "7"}]},
    },
    {
        "name": "h",
        "histogram": {
            "aggregationTemporality": 1,
            "dataPoints": [
                {**_AT, "count": "3", "sum": 2.5, "bucketCounts": ["1", "2"], "explicitBounds": [1]}
            ],
        },
    },
    {
        "name": "e",
        "exponentialHistogram": {
            "aggregationTemporality": 2,
            "dataPoints": [
                {**_AT, "count": "2", "sum": 3, "scale": 1, "positive": {"offset": 1, "bucketCounts": ["2"]}}
            ],
        },
    },
    {
        "name": "q",
        "summary": {
            "dataPoints": [
                {**_AT, "count": "2", "sum": 3, "quantileValues": [{"quantile": 0.99, "value": 2}]}
            ]
        },
    },
]
_MESSAGES = (
    ({"resourceSpans": [{"resource": _RESOURCE, "scopeSpans": [{"spans": [_SPAN]}]}]}, TracesData()),
    ({"resourceLogs": [{"resource": _RESOURCE, "scopeLogs": [{"logRecords": [_LOG]}]}]}, LogsData()),
    (
        {"resourceMetrics": [{"resource": _RESOURCE, "scopeMetrics": [{"metrics": _METRICS}]}]},
        MetricsData(),
    ),
)


_NGINX = """log_format llm escape=json '{"at":"$time_iso8601","ip":"$remote_addr","st":$status,'
    '"rt":"$request_time","up":"$upstream_response_time","ua":"$http_user_agent"}';
"""
_NGINX_LINES = (
    r'{"at":"2026-02-03T12:02:07+01:00","ip":"10.0.0.9","st":200,"rt":"4.210","up":"4.1","ua":"a\"b\u0001"}',
    r'{"at":"2026-02-03T12:02:08+01:00","ip":"2001:db8::7","st":499,"rt":"0.001","up":"-","ua":""}',
)
_APACHE = r'LogFormat "%h %t \"%r\" %>s %O %{ms}T \"%{User-Agent}i\"" timed' + "\n"
_APACHE_LINES = (
    r'203.0.113.9 [03/Feb/2026:12:02:07 +0100] "POST /v1/completions HTTP/1.1" 200 512 4210 "a \"b\" \x00"',
)


@dataclass(frozen=True)
class Seed:
    """One small file.

    format   what `survey` takes it for
    beside   the configuration without which it is not known
    """

    format: str
    data: bytes
    beside: str = ""

    @property
    def is_packed(self) -> bool:
        """Whether it is compressed."""
        return self.data.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))


def seeds() -> Iterator[Seed]:
    """One seed at least of every format that is read."""
    yield Seed("otlp_json_lines", b"".join(one + b"\n" for one in _exports()))
    yield Seed("otlp_json_documents", b"".join(_exports(indent=1)))
    yield Seed("otlp_json_documents", b"[%s]" % b",".join(_exports()))
    frames = [Parse(_base64_ids(json.dumps(one)), to).SerializeToString() for one, to in _MESSAGES]
    yield Seed("otlp_protobuf", _framed(frames))
    yield Seed("otlp_framed", _framed([_zstd(one) for one in frames]))
    yield Seed("otlp_framed", _framed(_exports()))
    yield Seed("otlp_framed", _framed([_zstd(one) for one in _exports()]))
    for one in frames:
        yield Seed("otlp_protobuf_bare", one)
    for form, text in (*TEXTS.items(), *VARIANTS):
        yield Seed(form, text.encode())
    yield Seed("prometheus_text", gzip.compress(TEXTS["prometheus_text"].encode(), mtime=0))
    yield Seed("events_json_lines", _zstd(TEXTS["events_json_lines"].encode()))
    yield Seed("nginx:llm", _lines(_NGINX_LINES), _NGINX)
    yield Seed("apache:timed", _lines(_APACHE_LINES), _APACHE)
    for path in sorted(folders.definitions("sources", "formats").glob("*.yaml")):
        declared = yaml.safe_load(path.read_text(encoding="utf-8"))
        yield Seed(declared["format"], _lines([sample["line"] for sample in declared["samples"]]))


def _exports(indent: int | None = None) -> list[bytes]:
    return [json.dumps(one, indent=indent).encode() for one, _ in _MESSAGES]


def _lines(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _zstd(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


def _framed(messages: Sequence[bytes]) -> bytes:
    return b"".join(struct.pack(">I", len(one)) + one for one in messages)


def _base64_ids(text: str) -> str:
    """OTLP has ids in hex, where protobuf's own JSON has base64."""
    for given in _IDS:
        text = text.replace(given, base64.b64encode(bytes.fromhex(given)).decode())
    return text


def from_corpus(corpus: Path, largest: int = 16 << 10) -> Iterator[bytes]:
    """The small files of the corpus; none where it is not there."""
    for path in sorted(corpus.rglob("*")):
        if path.is_file() and 0 < path.stat().st_size <= largest:
            yield path.read_bytes()
