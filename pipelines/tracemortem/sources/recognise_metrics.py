"""Metrics and events that are neither Prometheus text nor OTLP, by the beginning of their content."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tracemortem.sources import dcgmi, netstat, nvidia_csv, nvidia_dmon, nvidia_query, vllm_log, w3c

_FIRST = 20
_BEGINNING = 8192  # characters in which an answer says what it is
_ANSWER = re.compile(r'"resultType"\s*:\s*"(?:matrix|vector|scalar)"')
_ERROR = re.compile(r'\A\s*\{\s*"status"\s*:\s*"error"(?=.*"error(?:Type)?"\s*:)', re.DOTALL)
_EXPORT = re.compile(r'\A\{"metric":\{[^\n]*?\},"values":\[')
_SERIES = re.compile(r'\A\{"__name__":"[^\n]*"\}$', re.MULTILINE)
_QUERIED = (re.compile(nvidia_csv.HEADER), re.compile(nvidia_csv.PROPERTY))
_NETSTAT = re.compile(netstat.BEGINS)
_EVENTS = re.compile(r'\A\s*[{\[].*?"(?:involvedObject|regarding)"\s*:\s*\{', re.DOTALL)
_DMON = re.compile(dcgmi.HEADER)


class Told(NamedTuple):
    """As `Recognised`: kind, format, reason, fix."""

    kind: str
    format: str
    reason: str
    fix: str = ""


_OF_TEXT: Sequence[tuple[re.Pattern[str], Told]] = (
    (_ANSWER, Told("metrics_json", "prometheus_json", "an answer of the Prometheus API")),
    (
        _ERROR,
        Told(
            "skipped",
            "prometheus_json",
            "an answer of the Prometheus API that says nothing but that it failed",
            "ask again, for a shorter stretch or fewer series",
        ),
    ),
    (_EVENTS, Told("events", "kubernetes_events", "JSON of Kubernetes events")),
    (_EXPORT, Told("metrics_json", "victoriametrics_export", "JSON lines with metric, values, timestamps")),
    (
        _SERIES,
        Told(
            "skipped",
            "tsdb_series",
            "names of series without samples (promtool tsdb dump --format=series)",
            "dump it without --format",
        ),
    ),
)
_TSDB = re.compile(r'\A\s*\{\s*(?:"version"\s*:\s*\d+,\s*)?"ulid"\s*:')
_CAPTURE = re.compile(r"^# nvidia_gpu_exporter GPU capture$", re.MULTILINE)
_COUNTERS = re.compile(r"^(?:DCGM|dcgm)_\w+,\s*(?:gauge|counter|label|histogram)\b", re.MULTILINE)
_REFUSED: Sequence[tuple[re.Pattern[str], Told]] = (
    (
        _TSDB,
        Told(
            "skipped",
            "tsdb_block",
            "part of a block of Prometheus' own database",
            "promtool tsdb dump FOLDER",
        ),
    ),
    (
        _CAPTURE,
        Told(
            "skipped",
            "nvidia_gpu_capture",
            "a capture of nvidia_gpu_exporter, what many commands printed in one file",
            "save what nvidia-smi --query-gpu or -q printed to a file of its own",
        ),
    ),
    (
        _COUNTERS,
        Told(
            "skipped",
            "dcgm_counters",
            "the list of fields that dcgm-exporter is to give, not what it gave",
            "save its page of metrics, or ask Prometheus for them",
        ),
    ),
)
_OF_LINE: Sequence[tuple[Callable[[str], object], Told]] = (
    (
        lambda line: line.lstrip().startswith(nvidia_query.XML_BEGINS),
        Told("metrics_text", "nvidia_smi_xml", "XML of nvidia-smi -q -x"),
    ),
    (
        nvidia_query.TEXT_BEGINS.match,
        Told("metrics_text", "nvidia_smi_text", "it has the headline of nvidia-smi -q"),
    ),
    (
        re.compile(nvidia_dmon.HEADER).match,
        Told("metrics_text", "nvidia_smi_dmon", "it has the header of nvidia-smi dmon or pmon"),
    ),
    (_DMON.match, Told("metrics_text", "dcgmi_dmon", "it has the header of dcgmi dmon")),
    (re.compile(w3c.BEGINS).match, Told("access_log", "w3c_extended", "a line of it names its #Fields")),
    (_NETSTAT.match, Told("metrics_text", "netstat", "it has the headings of netstat -s")),
)


def tell(lines: Sequence[str], text: str) -> Told | None:
    """What these first lines (none blank; text: they in one) are; None where others are to say."""
    beginning = text[:_BEGINNING]
    for pattern, told in (*_OF_TEXT, *_REFUSED):
        if pattern.search(beginning):
            return told
    if "," in lines[0] and all(pattern.search(lines[0]) for pattern in _QUERIED):
        return Told("metrics_text", "nvidia_smi_csv", "its first line is a header of nvidia-smi --query-gpu")
    for is_it, told in _OF_LINE:
        if any(is_it(line) for line in lines[:_FIRST]):
            return told
    if any(vllm_log.LINE in line for line in lines):
        return Told("metrics_text", "vllm_log", "lines of it are the statistics that vLLM logs")
    return None
