"""Which files are parts of a rotated one, and in which order, by their names."""

import itertools
from pathlib import Path

import pytest

from tracemortem.sources.rotated import neighbours


def ordered(*names: str) -> list[tuple[str, str]]:
    return [(before.as_posix(), after.as_posix()) for before, after in neighbours(map(Path, names))]


@pytest.mark.parametrize(
    "names",
    [
        ("app.log.10.zst", "app.log.9.gz", "app.log.8"),  # logrotate
        ("app.log.2.gz", "app.log.1", "app.log"),
        ("app.log-20260713.gz", "app.log-20260714", "app.log"),  # logrotate, dateext
        ("app-20260713.log", "app-20260714.log", "app.log"),  # and extension
        ("app.log-2026071404", "app.log-2026071405"),
        ("app.log-20260714-1784005334", "app.log-20260714-1784005335"),
        ("spans-2026-07-14T04-59-59.999.jsonl", "spans-2026-07-14T05-02-14.173.jsonl", "spans.jsonl"),
        ("spans-2026-07-14T04-59-59.999.jsonl", "spans-2026-07-14T05-02-14.173-size.jsonl.gz", "spans.jsonl"),
        ("spans-2026-07-14T04-59-59.999-time", "spans"),
        ("access_log.1784005334", "access_log.1784008934"),  # rotatelogs
        ("app.log.2026-07-13", "app.log.2026-07-14", "app.log"),  # Python
        ("app-2026-07-14-9.log.gz", "app-2026-07-14-10.log.gz", "app.log"),  # Log4j
        ("0.log.20260714-050214.gz", "0.log.20260714-060214", "0.log"),  # kubelet
    ],
)
def test_a_set_is_in_the_order_in_which_it_was_written(names):
    assert ordered(*sorted(names)) == list(itertools.pairwise(names))


@pytest.mark.parametrize(
    "names",
    [
        ("app.log", "other.log.1"),
        ("app.log", "app.log.2"),  # .1 is missing
        ("app.log.1", "app.log.3"),
        ("a/app.log.1", "b/app.log"),  # of two machines
        ("app.log.1", "app.log.1.gz"),  # one file twice
        ("app-20260714.log", "app.log.1"),
        ("app-1.log", "app-2.log"),  # which of them is older, no convention says
        ("spans-2026.jsonl", "spans.jsonl"),
        ("port-8000.log", "port-8001.log"),
    ],
)
def test_files_that_are_no_neighbours_are_not_taken_for_such(names):
    assert ordered(*names) == []


def test_of_a_file_and_its_packed_copy_one_is_taken():
    assert ordered("app.log", "app.log.1", "app.log.1.gz") == [("app.log.1", "app.log")]
