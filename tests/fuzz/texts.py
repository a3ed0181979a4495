"""A small file in text of each format that is read by a reader of its own, and of its variants."""

import json
from collections.abc import Sequence

TEXTS = {
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

_JAEGER_TRACE = json.loads(TEXTS["jaeger_json"])["data"][0]

# further ways in which some of them are written
VARIANTS: Sequence[tuple[str, str]] = (
    (
        "nvidia_smi_dmon",
        """# gpu         pid  type    sm   mem   command
# Idx           #   C/G     %     %   name
    0       14835     C    90    10   VLLM::EngineCore 0
""",
    ),
    (
        "w3c_extended",
        "#Version: 1.0\n#Fields: sc-status date time c-ip cs(User-Agent) time-taken x-forwarded-for\n"
        "200\t2026-02-03\t11:02:11\t203.0.113.9\tcurl/8.5.0%20(x)\t4.210\t198.51.100.7,%2010.0.0.9\n",
    ),
    (
        "jaeger_json",
        json.dumps(
            {
                "_index": "jaeger",
                "_source": {**_JAEGER_TRACE["spans"][0], "process": _JAEGER_TRACE["processes"]["p1"]},
            }
        )
        + "\n",
    ),
    ("zipkin_json", f"[{TEXTS['zipkin_json']}]\n{TEXTS['zipkin_json']}\n"),
    (
        "prometheus_json",
        json.dumps(
            {
                "status": "success",
                "data": {
                    "resultType": "vector",
                    "result": [{"metric": {"__name__": "up"}, "value": [1770116527.5, "1"]}],
                },
            },
            indent=1,
        ),
    ),
    (
        "kubernetes_events",
        json.dumps({"type": "ADDED", "object": json.loads(TEXTS["kubernetes_events"])["items"][0]}) + "\n",
    ),
    ("nvidia_smi_text", TEXTS["nvidia_smi_text"] * 2),
    ("nvidia_smi_xml", TEXTS["nvidia_smi_xml"] * 2),
    ("dcgmi_dmon", TEXTS["dcgmi_dmon"] * 2),
    ("netstat", TEXTS["netstat"] * 2),
)
