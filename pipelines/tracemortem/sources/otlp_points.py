"""OTLP data points and what they are of: each distinct stream is told once, and points only point to it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tracemortem.sources import attributes
from tracemortem.sources import otlp_fields as fields
from tracemortem.sources.attributes import Positions, regrouped, unnest
from tracemortem.sources.otlp_fields import Lines
from tracemortem.sources.otlp_series import Family

_DELTA, _CUMULATIVE = 1, 2
_NO_RECORDED_VALUE = 1  # bit of flags: what Prometheus calls stale
# between texts that are compared as one: labels hold no control characters
_FIELD, _LABEL, _VALUE = "\x1d", "\x1e", "\x1f"
_HEAD = ("resource", "scope", "name", "unit", "metric_type", "is_counter")


@dataclass(frozen=True)
class Metrics:
    """The metrics of some envelopes.

    items      the metrics, as declared in otlp_shape
    heads      columns line, resource (position in resources), scope, name, unit; a row a metric
    resources  labels, as `_labels` writes them; each text once, however many metrics are of it
    """

    items: pa.StructArray
    heads: pl.DataFrame
    resources: pa.StringArray


@dataclass(frozen=True)
class Points:
    """Points of one kind that can be stored.

    items     the points, as declared in otlp_shape
    rows      columns line, at, is_known (whether a value was recorded); a row a point
    family    position among families, an entry a point
    families  what the points are of, each once
    """

    items: pa.StructArray
    rows: pl.DataFrame
    family: Positions
    families: list[Family]


def metrics(resource_metrics: pa.ListArray, lines: Lines) -> Metrics:
    """The metrics of some envelopes: a list of resources each; lines: of each its number."""
    resources, envelope_of = unnest(resource_metrics)
    scopes, resource_of = unnest(pc.struct_field(resources, "scopeMetrics"))
    items, scope_of = unnest(pc.struct_field(scopes, "metrics"))
    resource_of = resource_of[scope_of]
    labels = _labels(pc.struct_field(resources, ["resource", "attributes"])).dictionary_encode()
    heads = [
        pl.Series("line", lines[envelope_of[resource_of]]),
        pl.Series("resource", labels.indices)[resource_of],
        pl.Series("scope", pc.struct_field(scopes, ["scope", "name"]))[scope_of],
        pl.Series("name", pc.struct_field(items, "name")),
        pl.Series("unit", pc.struct_field(items, "unit")),
    ]
    return Metrics(
        items, pl.DataFrame(heads).with_columns(pl.col(pl.String).fill_null("")), labels.dictionary
    )


def points(kind: str, of: Metrics) -> tuple[Points, pl.DataFrame]:
    """The points of the metrics of one kind, and the rejects: no time, no name, buckets that do not fit.

    kind   the metric's field: gauge, sum, histogram, exponentialHistogram or summary
    """
    of_kind, heads = pc.struct_field(of.items, kind), of.heads
    items, metric_of = unnest(pc.struct_field(of_kind, "dataPoints"))
    own = _labels(pc.struct_field(items, "attributes"))
    rows = pl.DataFrame(
        [
            heads["line"][metric_of],
            heads["name"][metric_of],
            pl.Series("attributes", own),
            pl.Series("timeUnixNano", pc.struct_field(items, "timeUnixNano")),
            pl.Series("flags", pc.struct_field(items, "flags")).fill_null(0),
            pl.Series("fits", _fits(items) if kind == "histogram" else [True] * len(items), pl.Boolean),
        ]
    ).with_columns(
        ns=fields.nanoseconds("timeUnixNano"), is_known=(pl.col("flags") & _NO_RECORDED_VALUE) == 0
    )
    reason = rows.select(
        pl.coalesce(
            fields.why_no_time("timeUnixNano", "ns"),
            pl.when(pl.col("name") == "").then(pl.lit("the metric has no name")),
            pl.when(~pl.col("fits")).then(pl.lit("its buckets do not fit explicitBounds")),
        )
    ).to_series()
    rejects = _rejected(rows.filter(reason.is_not_null()), reason.drop_nulls())
    if rejects.height:
        kept = reason.is_null().arg_true().to_numpy()
        items, own = items.take(pa.array(kept)), own.take(pa.array(kept))
        metric_of, rows = metric_of[kept], rows[kept]
    family, families = _families(_told(kind, of_kind, heads), of.resources, metric_of, own)
    return Points(items, rows.select("line", "is_known", at=fields.instant("ns")), family, families), rejects


def _rejected(lost: pl.DataFrame, reason: pl.Series) -> pl.DataFrame:
    shown = pl.col("attributes").str.replace_all(_VALUE, "=").str.replace_all(_LABEL, " ")
    return fields.rejected(lost.with_columns(shown), reason, "name", "timeUnixNano", "attributes")


def _told(kind: str, of_kind: pa.StructArray, heads: pl.DataFrame) -> pl.DataFrame:
    """The heads, with what the metrics say of themselves: metric_type and is_counter."""
    metric_type = "exponential_histogram" if kind == "exponentialHistogram" else kind
    if kind in ("gauge", "summary"):
        # not false for a gauge: it may be a counter that lost its type on the way, and its name then tells
        is_counter = pl.lit(None if kind == "gauge" else True, dtype=pl.Boolean)
        return heads.with_columns(metric_type=pl.lit(metric_type), is_counter=is_counter)
    monotonic = pc.struct_field(of_kind, "isMonotonic") if kind == "sum" else [True] * heads.height
    grows = pl.Series(monotonic, dtype=pl.Boolean).fill_null(value=False)
    temporality = pl.Series(pc.struct_field(of_kind, "aggregationTemporality"))
    is_delta = pl.lit(temporality == _DELTA)
    return heads.with_columns(
        metric_type=pl.when(is_delta).then(pl.lit(f"delta_{metric_type}")).otherwise(pl.lit(metric_type)),
        is_counter=pl.when(pl.lit(temporality == _CUMULATIVE))
        .then(grows)
        .when(is_delta)
        .then(pl.lit(value=False)),
    )


def _families(
    heads: pl.DataFrame, resources: pa.StringArray, metric_of: Positions, own: pa.StringArray
) -> tuple[Positions, list[Family]]:
    """What the points are of: for each a position in the list, which holds every stream once."""
    as_one = heads.select(pl.concat_str(pl.col(_HEAD).cast(pl.String).fill_null(""), separator=_FIELD))
    head = as_one.to_series().to_arrow().dictionary_encode().indices.to_numpy()
    label = own.dictionary_encode()
    stream = head[metric_of].astype(np.int64) * len(label.dictionary) + label.indices.to_numpy()
    _, first, family = np.unique(stream, return_index=True, return_inverse=True)
    families = []
    for at in first.tolist():
        _, resource, scope, name, unit, metric_type, is_counter = heads.row(int(metric_of[at]))
        labels = {**_parsed(resources[resource].as_py()), **_parsed(own[at].as_py())}
        families.append(
            Family(name, unit or None, metric_type, is_counter, tuple(sorted(labels.items())), scope)
        )
    return family, families


def _fits(items: pa.StructArray) -> npt.NDArray[np.bool_]:
    """Whether a histogram's buckets, if there are any, are one more than its bounds, which are numbers."""
    bounds, bound_of = unnest(pc.struct_field(items, "explicitBounds"))
    _, count_of = unnest(pc.struct_field(items, "bucketCounts"))
    edges, counts = (np.bincount(of, minlength=len(items)) for of in (bound_of, count_of))
    fits: npt.NDArray[np.bool_] = (counts == edges + 1) | ((counts == 0) & (edges == 0))
    fits[bound_of[np.isnan(bounds.to_numpy(zero_copy_only=False))]] = False
    return fits


def _labels(lists: pa.ListArray) -> pa.StringArray:
    """Attributes as one text a list, to tell equal ones from different ones, and to be parsed when new."""
    items, owners = unnest(lists)
    keys = pc.fill_null(pc.struct_field(items, "key"), "")
    values = attributes.texts(pc.struct_field(items, "value")).fill_null("").to_arrow().cast(pa.string())
    labels = pc.binary_join_element_wise(keys, values, _VALUE)
    return pc.binary_join(regrouped(labels, owners, len(lists)), _LABEL)


def _parsed(text: str) -> dict[str, str]:
    """Labels of such a text. One with an empty value is left out: to Prometheus it is not there."""
    labels = (label.partition(_VALUE) for label in text.split(_LABEL))
    return {key: value for key, _, value in labels if key and value}
