"""Metrics and events that are neither Prometheus text nor OTLP, by the beginning of their content."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tracemortem.sources import dcgmi, netstat, nvidia_csv, nvidia_dmon, nvidia_query, vllm_log, w3c

_FIRST = 20
_BEGINNING = 8192  # characters in which an answer says what it is
_ANSWER = re.compile(r'"resultType"\s*:\s*"(?:matrix|vector|scalar)"')
_EXPORT = re.compile(r'\A\{"metric":\{[^\n]*?\},"values":\[')
_QUERIED = (re.compile(nvidia_csv.HEADER), re.compile(nvidia_csv.PROPERTY))
_NETSTAT = re.compile(netstat.BEGINS)
_EVENTS = re.compile(r'\A\s*[{\[].*?"(?:involvedObject|regarding)"\s*:\s*\{', re.DOTALL)
_DMON = re.compile(dcgmi.HEADER)


class Told(NamedTuple):
    """As `Recognised`: kind, format, reason."""

    kind: str
    format: str
    reason: str


_OF_TEXT: Sequence[tuple[re.Pattern[str], Told]] = (
    (_ANSWER, Told("metrics_json", "prometheus_json", "an answer of the Prometheus API")),
    (_EVENTS, Told("events", "kubernetes_events", "JSON of Kubernetes events")),
    (_EXPORT, Told("metrics_json", "victoriametrics_export", "JSON lines with metric, values, timestamps")),
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
    for pattern, told in _OF_TEXT:
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
