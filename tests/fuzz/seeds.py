"""A small file of every format that is read, for mutation; made here, or out of a format's own samples."""

import base64
import gzip
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
import zstandard
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
_EXPORTS = (
    {"resourceSpans": [{"resource": _RESOURCE, "scopeSpans": [{"spans": [_SPAN]}]}]},
    {"resourceLogs": [{"resource": _RESOURCE, "scopeLogs": [{"logRecords": [_LOG]}]}]},
    {"resourceMetrics": [{"resource": _RESOURCE, "scopeMetrics": [{"metrics": _METRICS}]}]},
)
_TEXTS = {
    "prometheus_text": """# HELP vllm:num_requests_running running
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="a\\"b\\\\",engine="0"} 3 1770116527000
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",Hostname="n1"} 97 1770116527000
h_bucket{le="+Inf"} 1e+06 1770116527000 # {trace_id="x"} 0.5
# EOF
""",
    "tsdb_dump": """{__name__="vllm:num_requests_running", engine="0"} 3 1770116527000
{__name__="vllm:num_requests_running", engine="0"} NaN 1770116542000
""",
    "prometheus_json": json.dumps(
        {
            "status": "success",
            "data": {
                "resultType": "matrix",
                "result": [
                    {
                        "metric": {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "0"},
                        "values": [[1770116527, "1"], [1770116528.5, "NaN"]],
                    }
                ],
            },
        }
    ),
    "victoriametrics_export": '{"metric":{"__name__":"up","job":"v"},"values":[1,null,2.5],'
    '"timestamps":[1770116527000,1770116528000,1770116529000]}\n',
    "nvidia_smi_csv": """timestamp, index, uuid, utilization.gpu [%], memory.used [MiB], power.draw [W]
2026/02/03 08:12:53.353, 0, GPU-1, 97 %, 19818 MiB, 631.95 W
2026/02/03 08:12:54.353, 0, GPU-1, [N/A], 19818 MiB, ERR!
""",
    "nvidia_smi_xml": """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
<timestamp>Fri Apr 10 10:23:01 2026</timestamp>
<gpu id="00000000:0C:00.0">
<uuid>GPU-1</uuid>
<utilization><gpu_util>65 %</gpu_util><memory_util>N/A</memory_util></utilization>
<clocks><sm_clock>1950 MHz</sm_clock></clocks>
</gpu>
</nvidia_smi_log>
""",
    "nvidia_smi_text": """
==============NVSMI LOG==============

Timestamp                                 : Fri Apr 10 10:23:01 2026
Driver Version                            : 590.48.01

Attached GPUs                             : 1
GPU 00000000:0C:00.0
    GPU UUID                              : GPU-1
    Utilization
        GPU                               : 65 %
    Clocks
        SM                                : 1950 MHz
""",
    "dcgmi_dmon": """#Entity   GPUTL             POWER             DRAMA
ID                          W
GPU 0     61                412.118           0.367
GPU 1     N/A               409.002           0.371
""",
    "vllm_log": "(APIServer pid=1) INFO 02-03 08:14:11 [loggers.py:310] Engine 000: "
    "Avg prompt throughput: 79.0 tokens/s, Avg generation throughput: 3.7 tokens/s, "
    "Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.4%, Prefix cache hit rate: 12.0%\n",
    "netstat": """Ip:
    500 total packets received
Tcp:
    900 segments received
    1000 segments sent out
    17 segments retransmitted
""",
    "kubernetes_events": json.dumps(
        {
            "kind": "List",
            "items": [
                {
                    "kind": "Event",
                    "reason": "OOMKilling",
                    "message": "Memory cgroup out of memory",
                    "type": "Warning",
                    "count": 3,
                    "lastTimestamp": "2026-02-03T11:02:07Z",
                    "involvedObject": {"kind": "Pod", "name": "vllm-0", "namespace": "llm"},
                }
            ],
        }
    ),
    "nvidia_smi_dmon": """#Date       Time        gpu   pwr    sm  rxpci
#YYYYMMDD   HH:MM:SS    Idx     W     %   MB/s
 20260203   12:02:07      0   412    97     12
 20260203   12:02:08      0     -     0     12
""",
    "w3c_extended": "#Software: Microsoft Internet Information Services 10.0\r\n#Version: 1.0\r\n"
    "#Fields: date time cs-method cs-uri-stem c-ip cs(User-Agent) sc-status sc-bytes time-taken\r\n"
    "2026-02-03 11:02:11 POST /v1/completions 203.0.113.9 curl/8.5.0 200 703 4210\r\n",
    "jaeger_json": json.dumps(
        {
            "data": [
                {
                    "traceID": "1f",
                    "spans": [
                        {
                            "traceID": "1f",
                            "spanID": "a2",
                            "operationName": "llm_request",
                            "references": [{"refType": "CHILD_OF", "traceID": "1f", "spanID": "a1"}],
                            "startTime": 1770116527250000,
                            "duration": 1500000,
                            "tags": [
                                {"key": "span.kind", "type": "string", "value": "server"},
                                {"key": "gen_ai.usage.prompt_tokens", "type": "int64", "value": 2361},
                                {"key": "error", "type": "bool", "value": True},
                            ],
                            "logs": [],
                            "processID": "p1",
                        }
                    ],
                    "processes": {"p1": {"serviceName": "vllm", "tags": []}},
                }
            ]
        },
        indent=1,
    ),
    "zipkin_json": json.dumps(
        [
            {
                "traceId": "1f",
                "id": "a2",
                "parentId": "a1",
                "kind": "SERVER",
                "name": "llm_request",
                "timestamp": 1770116527250000,
                "duration": 1500000,
                "localEndpoint": {"serviceName": "vllm", "ipv4": "10.0.0.1"},
                "remoteEndpoint": {"ipv6": "2001:db8::7", "port": 1},
                "tags": {"http.status_code": "200"},
            }
        ]
    ),
    "events_json_lines": '{"time":"2026-02-03T11:02:07Z","kind":"deploy","text":"vllm 0.10"}\n'
    '{"time":"2026-02-03T11:03:07+01:00","kind":"config","text":"caching off","service":"vllm"}\n',
}


@dataclass(frozen=True)
class Seed:
    """One small file. format: what `survey` takes it for."""

    format: str
    data: bytes


def seeds() -> Iterator[Seed]:
    """One seed at least of every format that is read but those that need a configuration beside them."""
    yield Seed("otlp_json_lines", "".join(json.dumps(one) + "\n" for one in _EXPORTS).encode())
    yield Seed("otlp_json_documents", "".join(json.dumps(one, indent=1) for one in _EXPORTS).encode())
    messages = (TracesData(), LogsData(), MetricsData())
    frames = [
        Parse(_base64_ids(json.dumps(one)), to).SerializeToString()
        for one, to in zip(_EXPORTS, messages, strict=True)
    ]
    yield Seed("otlp_protobuf", _framed(frames))
    yield Seed("otlp_framed", _framed([zstandard.compress(one) for one in frames]))
    yield Seed("otlp_protobuf_bare", frames[0])
    for form, text in _TEXTS.items():
        yield Seed(form, text.encode())
    yield Seed("prometheus_text", gzip.compress(_TEXTS["prometheus_text"].encode()))
    yield Seed("events_json_lines", zstandard.compress(_TEXTS["events_json_lines"].encode()))
    for path in sorted(folders.definitions("sources", "formats").glob("*.yaml")):
        declared = yaml.safe_load(path.read_text(encoding="utf-8"))
        lines = [sample["line"] for sample in declared["samples"]]
        yield Seed(declared["format"], ("\n".join(lines) + "\n").encode())


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
