"""How far a calibration could be off: each fifth of the minutes left out once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracemortem.replay.recorded import Floats

GROUPS = 5
_T = 2.776  # of Student's distribution with GROUPS - 1 degrees of freedom: two-sided, 95 %


def group(at_s: Floats) -> NDArray[np.int64]:
    """The group of each time, by its minute; shape (n,)."""
    return (at_s // 60).astype(np.int64) % GROUPS


def half_width(left_out: Sequence[float]) -> float:
    """Of the 95 % interval, from the estimates without each group; NaN where one of them is none.

    The spread is that of the delete-a-group jackknife (Quenouille, Biometrika 43, 1956).
    """
    values = np.asarray(left_out)
    return _T * float(np.sqrt((GROUPS - 1) / GROUPS * ((values - values.mean()) ** 2).sum()))
