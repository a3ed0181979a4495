"""An export request of OTLP as protobuf: nothing in it names its signal.

So it is parsed as each, and told by what only the right one gives.
"""

from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

_ID_BYTES = (16, 8)  # of a trace, of a span
Message = TracesData | MetricsData | LogsData


def is_resource(body: bytes) -> bool:
    """Whether this is a resource with attributes, each of which has a name."""
    try:
        resource = Resource.FromString(body)
    except DecodeError:
        return False
    return bool(resource.attributes) and all(one.key for one in resource.attributes)


def parsed(body: bytes) -> Message | None:
    """The message; None where it is no export request of any signal."""
    for kind in (TracesData, MetricsData, LogsData):
        try:
            message: Message = kind.FromString(body)
        except DecodeError:
            continue
        if _is_right(message):
            return message
    return None


def _is_right(message: Message) -> bool:
    """Whether its first item has what the same bytes, read as another signal, cannot give."""
    if isinstance(message, TracesData):
        spans = [span for of in message.resource_spans for scope in of.scope_spans for span in scope.spans]
        # one name and description of a metric may well be as long as the ids, but hardly those of all
        has_ids = ((len(span.trace_id), len(span.span_id)) == _ID_BYTES for span in spans)
        return any(span.start_time_unix_nano for span in spans) or (bool(spans) and all(has_ids))
    if isinstance(message, MetricsData):
        metrics = (
            one for of in message.resource_metrics for scope in of.scope_metrics for one in scope.metrics
        )
        # the body of a log record stands where a gauge does, and its text may happen to parse as one
        return any(one.name and one.WhichOneof("data") for one in metrics)
    logs = (log for of in message.resource_logs for scope in of.scope_logs for log in scope.log_records)
    return any(log.time_unix_nano or log.observed_time_unix_nano or log.HasField("body") for log in logs)
