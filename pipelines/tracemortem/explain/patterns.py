"""Values of attributes, and pairs of them, and how many requests each of them has."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracemortem.findings import Item

Floats = NDArray[np.float64]
TIME = "time in the incident"  # an attribute that strata are made of, and segments are not
_BLOCK = 50_000  # kinds of requests that are counted at once; as numbers of 8 bytes they take 50 MB


@dataclass(frozen=True)
class Kinds:
    """The kinds of requests of one incident, as rows.

    columns   value of an attribute a column; parts of the incident are the last
    has       kind and column: whether its requests have that value
    counts    a column each: requests, slow ones and work in the incident, requests and work before it
    """

    columns: tuple[Item, ...]
    has: NDArray[np.bool_]
    counts: Floats

    @property
    def attributes(self) -> list[str]:
        """The attributes, each once, in the order of the columns."""
        return list(dict.fromkeys(column.attribute for column in self.columns))

    def within(self, attribute: str) -> list[int]:
        """The columns of an attribute."""
        return [at for at, column in enumerate(self.columns) if column.attribute == attribute]

    def crossed(self) -> Floats:
        """For each count, a matrix of how much of it has both of two values; on the diagonal, the one."""
        size = len(self.columns)
        found = np.zeros((self.counts.shape[1], size, size))
        for first in range(0, len(self.has), _BLOCK):
            block = self.has[first : first + _BLOCK].astype(np.float64)
            for number, count in enumerate(self.counts[first : first + _BLOCK].T):
                found[number] += block.T @ (block * count[:, None])
        return found

    def strata(self, member: NDArray[np.bool_], attribute: str) -> tuple[Floats, Floats, Floats, Floats]:
        """Slow and all requests of the members by value of the attribute, and of everybody.

        Requests with none of its values are a stratum too, the last one.
        """
        columns = self.has[:, self.within(attribute)]
        stratum = np.where(columns.any(axis=1), columns.argmax(axis=1), columns.shape[1])
        requests, slow = self.counts[:, 0], self.counts[:, 1]
        size = columns.shape[1] + 1

        def summed(count: Floats) -> Floats:
            return np.bincount(stratum, count, size).astype(np.float64)

        return summed(slow * member), summed(requests * member), summed(slow), summed(requests)


def kinds(frame: pl.DataFrame) -> Kinds:
    """evidence.segment of one incident, as a matrix of kinds and values."""
    numbered = frame.with_row_index("kind")
    held = (
        numbered.filter(pl.col("items").list.len() > 0)
        .explode("attributes", "items")
        .select("kind", attribute="attributes", value="items")
    )
    parts = numbered.filter(pl.col("requests") > 0).select(
        "kind", attribute=pl.lit(TIME), value=pl.col("part").cast(pl.String)
    )
    names = [
        *held.select("attribute", "value").unique().sort("attribute", "value").rows(),
        *parts.select("attribute", "value").unique().sort("attribute", "value").rows(),
    ]
    at = pl.DataFrame(names, schema=["attribute", "value"], orient="row").with_row_index("column")
    there = pl.concat([held, parts]).join(at, on=["attribute", "value"])
    has = np.zeros((frame.height, len(names)), np.bool_)
    has[there["kind"].to_numpy(), there["column"].to_numpy()] = True
    counts = frame.select("requests", "slow_requests", "work_s", "requests_before", "work_before_s").cast(
        pl.Float64
    )
    return Kinds(tuple(Item(*name) for name in names), has, counts.to_numpy())


def enumerated(known: Kinds) -> Iterator[tuple[int, int]]:
    """Each value by itself, as (i, i), and each pair of values of two attributes."""
    wanted = [at for at, column in enumerate(known.columns) if column.attribute != TIME]
    for one in wanted:
        yield one, one
    for one in wanted:
        for other in wanted:
            if one < other and known.columns[one].attribute != known.columns[other].attribute:
                yield one, other
