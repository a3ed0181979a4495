"""Which files can be read on from the line at which they were left."""

import polars as pl

from tracemortem.sources import lines, wrapped
from tracemortem.sources.find import Found
from tracemortem.sources.opened import head
from tracemortem.sources.recognise import LINES, whole_lines

_FORMATS = {"otlp_json_lines", "events_json_lines", "victoriametrics_export"}
_CUT_UP = {"docker", "cri"}  # what these wrote may go on in the next line


def are_lines_apart(file: Found) -> bool:
    """Whether each line can be read without those before it.

    raises   OSError where the file cannot be opened

    It is not so where a header names the columns, where a scrape goes over many lines, where times are
    counted from a beginning, and where a container's runtime cuts lines up.
    """
    if file.text_format is not None:
        if lines.is_counted(file.text_format):
            return False
        around = wrapped.layers(pl.Series(whole_lines(head(file.path))[:LINES], dtype=pl.String))
        return _CUT_UP.isdisjoint(around)
    return file.format in _FORMATS


def is_record_a_line(file: Found) -> bool:
    """Whether a line is one record, a row or a reject."""
    return file.kind in {"access_log", "events"}
