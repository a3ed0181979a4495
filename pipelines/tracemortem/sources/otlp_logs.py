"""OTLP log records -> rows of the raw table log."""

from collections.abc import Mapping

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tracemortem.sources import attributes
from tracemortem.sources import otlp_fields as fields
from tracemortem.sources.attributes import unnest
from tracemortem.sources.batch import REJECTS, TIME
from tracemortem.sources.otlp_fields import Lines
from tracemortem.sources.records import record

SCHEMA: Mapping[str, pl.DataType] = {
    "line": pl.UInt64(),  # of its envelope
    "at": TIME,  # when it happened, else when it was observed
    "severity_number": pl.UInt8(),  # 1-4 trace, 5-8 debug, 9-12 info, 13-16 warning, 17-20 error, 21-24 fatal
    "severity": pl.String(),  # the source's own word
    "body": pl.String(),  # a structured body as JSON
    "service": pl.String(),
    "host": pl.String(),
    "replica": pl.String(),
    "trace_id": pl.String(),
    "span_id": pl.String(),
}
_PLAIN = ("timeUnixNano", "observedTimeUnixNano", "severityNumber", "severityText", "traceId", "spanId")


def logs(resource_logs: pa.ListArray, lines: Lines) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The log records of some envelopes.

    resource_logs  a list an envelope, as declared in otlp_shape
    lines          the line of each envelope
    returns        rows of the table log; rejects: no time at all
                   (an id that is none is null, as it only points elsewhere)
    """
    if resource_logs.null_count == len(resource_logs):
        return pl.DataFrame(schema=dict(SCHEMA)), pl.DataFrame(schema=dict(REJECTS))
    resources, envelope_of = unnest(resource_logs)
    scopes, resource_of = unnest(pc.struct_field(resources, "scopeLogs"))
    items, scope_of = unnest(pc.struct_field(scopes, "logRecords"))
    resource_of = resource_of[scope_of]
    wanted = attributes.of_resource(record("log"))
    whose, _ = attributes.pivot(pc.struct_field(resources, ["resource", "attributes"]), wanted)
    raw = pl.DataFrame(
        [
            pl.Series("line", lines[envelope_of[resource_of]]),
            *(pl.Series(name, pc.struct_field(items, name)) for name in _PLAIN),
            attributes.texts(pc.struct_field(items, "body")).alias("body"),
        ]
    )
    read = pl.concat([raw, whose[resource_of]], how="horizontal").with_columns(
        fields.ids(raw["traceId"], 16).alias("trace_id"),
        fields.ids(raw["spanId"], 8).alias("span_id"),
        ns=pl.coalesce(fields.nanoseconds("timeUnixNano"), fields.nanoseconds("observedTimeUnixNano")),
    )
    reason = read.select(fields.why_no_time("timeUnixNano", "ns")).to_series()
    is_stored = reason.is_null()
    lost = fields.rejected(read.filter(~is_stored), reason.filter(~is_stored), *_PLAIN, "body")
    return read.filter(is_stored).select(_stored()), lost


def _stored() -> list[pl.Expr]:
    severity = pl.col("severityNumber")
    made = {
        "at": fields.instant("ns"),
        "severity_number": pl.when(severity > 0).then(severity),
        "severity": fields.given(pl.col("severityText")),
        "trace_id": fields.known("trace_id", 16),
        "span_id": fields.known("span_id", 8),
    }
    return [
        made.get(name, pl.col(name)).cast(dtype, strict=False).alias(name) for name, dtype in SCHEMA.items()
    ]
