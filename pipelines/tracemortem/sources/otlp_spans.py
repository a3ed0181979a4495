"""OTLP spans -> rows of the raw table span."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tracemortem.sources import attributes
from tracemortem.sources import otlp_fields as fields
from tracemortem.sources.attributes import Named, Positions, Used, unnest
from tracemortem.sources.batch import TIME
from tracemortem.sources.otlp_fields import Lines
from tracemortem.sources.records import record

_OWN: Mapping[str, pl.DataType] = {
    "line": pl.UInt64(),  # of its envelope
    "trace_id": pl.String(),  # 32 lower hex digits; null where absent or all zero
    "span_id": pl.String(),  # 16 lower hex digits
    "parent_span_id": pl.String(),  # null where absent, all zero or no id
    "name": pl.String(),
    "span_kind": pl.UInt8(),  # 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer
    "started_at": TIME,
    "finished_at": TIME,
    "duration_s": pl.Float64(),  # of the nanoseconds, so exact where started_at and finished_at are not
    "status_code": pl.UInt8(),  # 0 unset, 1 ok, 2 error
    "status_message": pl.String(),
    "scope": pl.String(),
}
# a URL has an origin before the path; http.target and url.full have a query behind it
_ORIGIN = r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*"
_QUERY = r"[?#].*$"
_LONGER = r"[?#]|://"
PLAIN = ("traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano")

_IDS = {"traceId": "trace_id", "spanId": "span_id", "parentSpanId": "parent_span_id"}


def schema() -> dict[str, pl.DataType]:
    """The columns of the raw table span."""
    return {**_OWN, **{name: column.dtype for name, column in record("span").items()}}


@dataclass(frozen=True)
class Found:
    """Spans as a reader found them.

    plain        columns line, traceId, spanId, parentSpanId, name, kind, startTimeUnixNano, endTimeUnixNano,
                 status_code, status_message, scope; a row a span. Times are texts or Int64
    own          attributes of the spans;  resources: of the resources
    resource_of  the resource of each span, of so many
    """

    plain: pl.DataFrame
    own: Named
    resources: Named
    resource_of: Positions
    resource_count: int


def in_envelopes(resource_spans: pa.ListArray, lines: Lines) -> Found:
    """The spans of some envelopes.

    resource_spans  a list an envelope, as declared in otlp_shape
    lines           the line of each envelope
    """
    resources, envelope_of = unnest(resource_spans)
    scopes, resource_of = unnest(pc.struct_field(resources, "scopeSpans"))
    items, scope_of = unnest(pc.struct_field(scopes, "spans"))
    resource_of = resource_of[scope_of]
    plain = [
        pl.Series("line", lines[envelope_of[resource_of]]),
        *(pl.Series(name, pc.struct_field(items, name)) for name in PLAIN),
        pl.Series("status_code", pc.struct_field(items, ["status", "code"])),
        pl.Series("status_message", pc.struct_field(items, ["status", "message"])),
        pl.Series("scope", pc.struct_field(scopes, ["scope", "name"]))[scope_of],
    ]
    return Found(
        pl.DataFrame(plain),
        attributes.named(pc.struct_field(items, "attributes"), attributes.of_record(record("span"))),
        attributes.named(
            pc.struct_field(resources, ["resource", "attributes"]), attributes.of_resource(record("span"))
        ),
        resource_of,
        len(resources),
    )


def spans(found: Found) -> tuple[pl.DataFrame, pl.DataFrame, Used]:
    """Rows of the table span; rejects; and which attributes were used.

    Rejects are an id that is none, no span id, no start or end, an end before the start (but a parent id that
    is none is null).
    """
    raw = found.plain
    whose, _ = attributes.columns(
        found.resources, attributes.of_resource(record("span")), found.resource_count
    )
    said, used = attributes.columns(found.own, attributes.of_record(record("span")), raw.height)
    read = pl.concat([raw, whose[found.resource_of], said], how="horizontal").with_columns(
        fields.ids(raw["traceId"], 16).alias("trace_id"),
        fields.ids(raw["spanId"], 8).alias("span_id"),
        fields.ids(raw["parentSpanId"], 8).alias("parent_span_id"),
        start=fields.nanoseconds("startTimeUnixNano"),
        end=fields.nanoseconds("endTimeUnixNano"),
    )
    reason = read.select(_reason()).to_series()
    is_stored = reason.is_null()
    # an id may stand there as base64, in which nobody would look for it
    shown = [pl.coalesce(made, raw).alias(raw) for raw, made in _IDS.items()]
    lost = fields.rejected(read.filter(~is_stored).with_columns(shown), reason.filter(~is_stored), *PLAIN)
    stored = read.filter(is_stored)
    # by numpy: Polars multiplies with the inverse instead, and 581139000 / 1e9 is 0.5811390000000001
    duration = pl.Series("duration_s", (stored["end"] - stored["start"]).to_numpy() / 1e9)
    return stored.with_columns(duration).select(_stored()), lost, used


def _reason() -> pl.Expr:
    """Why a span cannot be stored; null where it can."""
    return pl.coalesce(
        fields.why_no_id("traceId", "trace_id", 16),
        fields.why_no_id("spanId", "span_id", 8),
        pl.when(fields.known("span_id", 8).is_null()).then(pl.lit("no spanId")),
        fields.why_no_time("startTimeUnixNano", "start"),
        fields.why_no_time("endTimeUnixNano", "end"),
        pl.when(pl.col("end") < pl.col("start")).then(pl.lit("it ends before it starts")),
    )


def _stored() -> list[pl.Expr]:
    # most paths are bare, and a replacement that finds nothing takes half of the time of all this
    longer = pl.when(pl.col("path").str.contains(_LONGER)).then("path")
    bare = longer.str.replace(_ORIGIN, "").str.replace(_QUERY, "")
    made = {
        "trace_id": fields.known("trace_id", 16),
        "parent_span_id": fields.known("parent_span_id", 8),
        "name": fields.given(pl.col("name")),
        "span_kind": pl.col("kind").fill_null(0),
        "started_at": fields.instant("start"),
        "finished_at": fields.instant("end"),
        "status_code": pl.col("status_code").fill_null(0),
        "status_message": fields.given(pl.col("status_message")),
        "scope": fields.given(pl.col("scope")),
        "path": fields.given(pl.coalesce(bare, "path")),
    }
    return [
        made.get(name, pl.col(name)).cast(dtype, strict=False).alias(name) for name, dtype in schema().items()
    ]
