"""Words that readers of traces in other forms write in the Collector's way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tracemortem.sources.json_documents import shown

KINDS: Mapping[str, int] = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
UNSET, OK, ERROR = 0, 1, 2
_STATUS = {"ERROR": ERROR, "OK": OK}
_SCOPES = ("otel.scope.name", "otel.library.name")
_TRACE, _SPAN = 32, 16  # hex digits of an id


@dataclass
class Spans:
    """Some spans as OTLP, by whose they are; and what could not be made one: why, and how it begins."""

    faults: list[tuple[str, str]] = field(default_factory=list)
    _of: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    _resources: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, whose: str, resource: list[dict[str, Any]], scope: str, span: dict[str, Any]) -> None:
        """Add a span. whose: tells its resource from others; resource: the attributes of that."""
        self._resources.setdefault(whose, resource)
        self._of.setdefault((whose, scope), []).append(span)

    def refuse(self, why: str, what: object) -> None:
        """Note what is no span."""
        self.faults.append((why, shown(what)))

    def resource_spans(self) -> list[dict[str, Any]]:
        """As they stand in an OTLP envelope."""
        return [
            {
                "resource": {"attributes": self._resources[whose]},
                "scopeSpans": [{"scope": {"name": scope}, "spans": spans}],
            }
            for (whose, scope), spans in self._of.items()
        ]


class NoSpanError(Exception):
    """Why something is no span."""


def trace_id(found: object) -> object:
    """An id of a trace with the zeros that old versions leave out before it."""
    return _padded(found, _TRACE)


def span_id(found: object) -> object:
    """An id of a span, likewise."""
    return _padded(found, _SPAN)


def nanoseconds(micros: object, name: str) -> int:
    """Microseconds, which stand in the field `name`, as nanoseconds.

    raises   NoSpanError where they are no number
    """
    if isinstance(micros, int) and not isinstance(micros, bool):
        return micros * 1000
    raise NoSpanError(f"no {name}" if micros is None else f"{name} is no number of microseconds")


def text(key: str, value: str) -> dict[str, Any]:
    """An attribute that is a text."""
    return {"key": key, "value": {"stringValue": value}}


def scope(tags: Mapping[str, Any]) -> str:
    """The instrumentation scope, by the tag in which OpenTelemetry's exporters keep it; "" without one."""
    return next((str(tags[name]) for name in _SCOPES if name in tags), "")


def status(tags: Mapping[str, Any]) -> int:
    """The status, by the tag in which OpenTelemetry's exporters keep it."""
    return _STATUS.get(str(tags.get("otel.status_code")), UNSET)


def _padded(found: object, size: int) -> object:
    return found.zfill(size) if isinstance(found, str) and found else found
