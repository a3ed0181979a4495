"""The course of the latency, recorded and replayed, by minute."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from worlds import served

from tracemortem.replay.course import course
from tracemortem.replay.recorded import requests

ORIGIN = datetime(2026, 2, 3, 11, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def made():
    """Four requests, of which two arrive in the first minute, one in the second and one in the fourth."""
    few = requests(served().head(4))
    return replace(few, started=np.array([59.9, 0.0, 60.0, 200.0]), total=np.array([2.0, 1.0, 4.0, 3.0]))


def rows(made, total_s):
    return course(made, np.array(total_s), ORIGIN.timestamp()).rows()


def test_a_request_belongs_to_the_minute_in_which_it_came_and_a_minute_without_one_has_no_row(made):
    assert rows(made, [3.0, 1.0, 5.0, 2.0]) == [
        (ORIGIN.replace(minute=0), 2, pytest.approx(1.99), pytest.approx(2.98)),
        (ORIGIN.replace(minute=1), 1, 4.0, 5.0),
        (ORIGIN.replace(minute=3), 1, 3.0, 2.0),
    ]


def test_what_fits_into_no_engine_is_not_known_and_never_0(made):
    assert [row[2:] for row in rows(made, [np.nan, 1.0, np.nan, 2.0])] == [
        (pytest.approx(1.99), 1.0),
        (4.0, None),
        (3.0, 2.0),
    ]
