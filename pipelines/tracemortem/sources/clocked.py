"""The readers that may need to be told when: format -> reader, and what `formats` says of it."""

from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from tracemortem.sources import (
    dcgmi,
    exposition,
    kubernetes_events,
    netstat,
    nvidia_csv,
    nvidia_dmon,
    nvidia_query,
    prometheus_json,
    vllm_log,
    w3c,
)
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock

READERS: Mapping[str, Callable[[BinaryIO, Clock], Iterator[Batch]]] = {
    "prometheus_text": exposition.read,
    "tsdb_dump": exposition.read_dump,
    "prometheus_json": prometheus_json.read,
    "victoriametrics_export": prometheus_json.read_export,
    "nvidia_smi_csv": nvidia_csv.read,
    "nvidia_smi_xml": nvidia_query.read_xml,
    "nvidia_smi_text": nvidia_query.read_text,
    "nvidia_smi_dmon": nvidia_dmon.read,
    "dcgmi_dmon": dcgmi.read,
    "vllm_log": vllm_log.read,
    "netstat": netstat.read,
    "kubernetes_events": kubernetes_events.read,
    "w3c_extended": w3c.read,
}

# those that write times without a zone
ZONELESS = {"nvidia_smi_csv", "nvidia_smi_xml", "nvidia_smi_text", "vllm_log"}

# name, kind, title
KNOWN: tuple[tuple[str, str, str], ...] = (
    ("prometheus_text", "metrics_text", "Prometheus text and OpenMetrics, any number of scrapes"),
    ("tsdb_dump", "metrics_text", "what `promtool tsdb dump` prints, and dump-openmetrics"),
    ("prometheus_json", "metrics_json", "answers of the Prometheus HTTP API: query_range, query"),
    ("victoriametrics_export", "metrics_json", "JSON lines of VictoriaMetrics, /api/v1/export"),
    ("nvidia_smi_csv", "metrics_text", "nvidia-smi --query-gpu=... --format=csv"),
    ("nvidia_smi_xml", "metrics_text", "nvidia-smi -q -x, once or in a loop"),
    ("nvidia_smi_text", "metrics_text", "nvidia-smi -q, once or in a loop"),
    ("nvidia_smi_dmon", "metrics_text", "nvidia-smi dmon and pmon, with -o DT or with --start and --every"),
    ("dcgmi_dmon", "metrics_text", "dcgmi dmon, with --start and --every"),
    ("vllm_log", "metrics_text", "the lines in which vLLM logs its statistics"),
    ("netstat", "metrics_text", "netstat -s, once or in a loop, with --start and --every"),
    ("w3c_extended", "access_log", "W3C extended logs with their #Fields, as of IIS and CloudFront"),
    ("kubernetes_events", "events", "kubectl get events -o json, once or watched"),
)
