"""OTLP data points -> rows of the raw table sample, and the series they belong to.

A point of a gauge or sum is one sample. A point of a histogram is one record too, though several samples come
of it, named as Prometheus names them: `<name>_count`, `<name>_sum` and, cumulative over the label le,
`<name>_bucket`. Of exponential histograms and summaries there are only count and sum. Points of delta sums
and histograms stay differences: their series are called delta_... in metric_type and are no counters.
"""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tracemortem.sources import otlp_points
from tracemortem.sources.attributes import unnest
from tracemortem.sources.batch import REJECTS, SAMPLE
from tracemortem.sources.otlp_fields import Lines
from tracemortem.sources.otlp_points import Points
from tracemortem.sources.otlp_series import Catalogue, Part
from tracemortem.sources.series import without_blanks

_KINDS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")


def samples(
    resource_metrics: pa.ListArray, lines: Lines, catalogue: Catalogue
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """The data points of some envelopes.

    resource_metrics  a list an envelope, as declared in otlp_shape
    lines             the line of each envelope
    catalogue         the file's series; new ones are added
    returns           rows of the table sample (null where a point says that no value was recorded); rejects;
                      and how many points were stored
    """
    rows, rejects, stored = [pl.DataFrame(schema=dict(SAMPLE))], [pl.DataFrame(schema=dict(REJECTS))], 0
    if resource_metrics.null_count == len(resource_metrics):
        return rows[0], rejects[0], stored
    metrics = otlp_points.metrics(resource_metrics, lines)
    for kind in _KINDS:
        of_kind = pc.struct_field(metrics.items, kind)
        if of_kind.null_count == len(of_kind):
            continue
        points, lost = otlp_points.points(kind, metrics)
        rejects.append(lost)
        stored += len(points.items)
        if not len(points.items):
            continue
        if kind in ("gauge", "sum"):
            rows += _values(points, catalogue)
        else:
            # proto3 leaves out a count of 0, and a summary's sum of 0; a histogram's sum is optional
            default = 0.0 if kind == "summary" else None
            rows.append(_total(points, "count", 0.0, catalogue))
            rows.append(_total(points, "sum", default, catalogue))
        if kind == "histogram":
            rows.append(_buckets(points, catalogue))
    return (
        pl.concat([part.select(*SAMPLE) for part in rows]).sort("line", maintain_order=True),
        pl.concat(rejects),
        stored,
    )


def _values(points: Points, catalogue: Catalogue) -> list[pl.DataFrame]:
    parts = [Part(family) for family in points.families]
    number = np.array(catalogue.numbers(parts), dtype=np.uint32)[points.family]
    name = pl.Series("name", [family.name for family in points.families])[points.family]
    real = pl.Series("real", pc.struct_field(points.items, "asDouble"))
    whole = pl.Series("whole", pc.struct_field(points.items, "asInt"))
    value = pl.coalesce("real", pl.col("whole").cast(pl.Float64, strict=False)).fill_nan(None)
    rows = points.rows.with_columns(name, real, whole, pl.Series("series_no", number)).with_columns(
        value=pl.when("is_known").then(without_blanks(value, pl.col("name")))
    )
    made = [rows]
    for at, extra_no, of_label in catalogue.extras(parts):
        of_part = rows.filter(pl.Series(points.family == at))
        made.append(of_part.with_columns(series_no=pl.lit(extra_no, pl.UInt32), value=pl.lit(of_label)))
    return made


def _total(points: Points, field: str, default: float | None, catalogue: Catalogue) -> pl.DataFrame:
    """The samples of the field count or sum; none of a point that lacks it, unless there is a default."""
    given = pl.Series("value", pc.struct_field(points.items, field))
    value = given.cast(pl.Float64, strict=False).fill_nan(None)
    if default is not None:
        value = value.zip_with(given.is_not_null(), pl.Series([default]).new_from_index(0, len(given)))
    is_there = (given.is_not_null() | (default is not None) | ~points.rows["is_known"]).to_numpy()
    used = np.unique(points.family[is_there])
    numbers = np.zeros(len(points.families), dtype=np.uint32)
    numbers[used] = catalogue.numbers([Part(points.families[at], f"_{field}") for at in used.tolist()])
    rows = points.rows.with_columns(pl.Series("series_no", numbers[points.family]), value)
    return rows.filter(pl.Series(is_there)).with_columns(value=pl.when("is_known").then("value"))


def _buckets(points: Points, catalogue: Catalogue) -> pl.DataFrame:
    """The buckets of histograms. OTLP counts what is in each; Prometheus, and so we, also all below."""
    counts, point_of = unnest(pc.struct_field(points.items, "bucketCounts"))
    bounds, _ = unnest(pc.struct_field(points.items, "explicitBounds"))
    size = np.bincount(point_of, minlength=len(points.items))
    start = np.cumsum(size) - size
    at = np.arange(len(counts)) - start[point_of]
    count = pl.Series(counts).cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    total = np.concatenate(([0], np.cumsum(count)))
    value = total[1:] - total[start[point_of]]
    le = np.full(len(counts), np.inf)
    le[at < size[point_of] - 1] = bounds.to_numpy(zero_copy_only=False)
    edges, edge = np.unique(le, return_inverse=True)
    series, kind = np.unique(points.family[point_of] * len(edges) + edge, return_inverse=True)
    parts = [
        Part(points.families[of], "_bucket", float(edges[at_edge]))
        for of, at_edge in (divmod(one, len(edges)) for one in series.tolist())
    ]
    numbers = np.array(catalogue.numbers(parts), dtype=np.uint32)
    return (
        points.rows[point_of]
        .with_columns(pl.Series("series_no", numbers[kind]), pl.Series("value", value))
        .with_columns(value=pl.when("is_known").then("value").cast(pl.Float64))
    )
