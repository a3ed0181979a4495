"""Which round (scrape, tick) of a file each sample belongs to, where nothing but repetition says so."""

from bisect import bisect_left
from dataclasses import dataclass, field

import polars as pl


@dataclass
class Rounds:
    """Counts the rounds over the blocks of a file.

    A round ends where something turns up that the round has already. The work is column-wise; only the rounds
    are gone through one by one, each with a binary search.
    """

    _last: dict[int, int] = field(default_factory=dict)
    _seen: int = 0
    _begins: int = 0
    _round: int = 0

    @property
    def count(self) -> int:
        """How many rounds were begun."""
        return self._round + 1 if self._seen else 0

    def number(self, what: pl.Series) -> pl.Series:
        """The number of the round of each row, from 0 in the first block on.

        what   a whole number for each row, the same for the same series
        """
        if what.is_empty():
            return pl.Series("round", [], dtype=pl.Int64)
        frame = pl.DataFrame({"what": what.cast(pl.Int64)}).with_columns(
            place=pl.int_range(pl.len(), dtype=pl.Int64) + self._seen
        )
        before = pl.col("place").shift(1).over("what")
        known = pl.col("what").replace_strict(self._last, default=None, return_dtype=pl.Int64)
        # the latest place at which anything up to here was seen before: if inside the round, it repeats
        frame = frame.with_columns(reach=pl.coalesce(before, known, pl.lit(-1)).cum_max())
        reach, starts = frame["reach"].to_list(), [self._begins]
        while (place := bisect_left(reach, starts[-1])) < len(reach):
            starts.append(self._seen + place)
        rounds = pl.Series(starts).search_sorted(frame["place"], side="right")
        numbers = (rounds.cast(pl.Int64) + (self._round - 1)).rename("round")
        self._last.update(frame.group_by("what").agg(pl.col("place").last()).iter_rows())
        self._seen += len(reach)
        self._begins, self._round = starts[-1], self._round + len(starts) - 1
        return numbers
