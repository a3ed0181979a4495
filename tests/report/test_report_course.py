"""The course of an incident: whole minutes, gaps kept, marks in place; drawn twice."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

from tracemortem.errors import DefinitionError
from tracemortem.folders import folder
from tracemortem.report.charts import figure
from tracemortem.report.course import Summary, course, digest, milliseconds, numbered
from tracemortem.report.drawing import drawing
from tracemortem.report.sections import sections, words

REPORTS = folder("reports")
CHART = next(section.chart for section in sections([REPORTS]) if section.chart)
WORDS = words([REPORTS])


@pytest.fixture
def incident(told):
    return told.diagnosis.incidents[0]


@pytest.fixture
def drawn(told, incident):
    return course(CHART, incident, told.rows)


def strip(drawn, title):
    return next(strip for strip in drawn.strips if strip.title == title)


def test_twice_its_length_is_shown_before_and_after(drawn, incident):
    assert (drawn.minutes[0], drawn.minutes[-1]) == (
        milliseconds(incident.onset_earliest - timedelta(minutes=58)),
        milliseconds(incident.end + timedelta(minutes=57)),
    )


def test_a_short_incident_is_shown_with_half_an_hour_around(told, incident):
    short = replace(incident, end=incident.start + timedelta(minutes=6))
    assert course(CHART, short, told.rows).minutes[0] == milliseconds(
        incident.onset_earliest - timedelta(minutes=30)
    )


def test_what_is_still_going_on_is_shown_to_the_end_of_the_data(told, incident):
    going_on = course(CHART, replace(incident, end=None), told.rows)
    last = told.rows["latency_course"]["minute"].max()
    assert (going_on.minutes[-1], going_on.end) == (milliseconds(last), last + timedelta(minutes=1))


def test_minutes_without_a_row_are_a_gap(drawn):
    hits = strip(drawn, "Prefix-cache hits").lines[0].values
    assert int(np.isnan(hits).sum()) == 9


def test_minutes_without_a_row_break_the_line_of_the_picture(drawn):
    alone = replace(drawn, strips=(strip(drawn, "Prefix-cache hits"),))
    assert drawing(alone, WORDS).split('class="line line-1" d="')[1].split('"')[0].count("M") == 2


def test_a_panel_without_a_value_is_left_out(told, incident):
    rows = {**told.rows, "dram_course": told.rows["dram_course"].with_columns(dram_active_ratio=None)}
    rows["cache_course"] = rows["cache_course"].clear()
    titles = [strip.title for strip in course(CHART, incident, rows).strips]
    assert titles == [
        "Latency", "Requests per minute", "Share of long prompts", "GPU time active", "GPU clock in MHz",
    ]  # fmt: skip


def test_a_line_without_a_value_is_left_out(told, incident):
    rows = {**told.rows, "dram_course": told.rows["dram_course"].with_columns(dram_active_ratio=None)}
    lines = strip(course(CHART, incident, rows), "GPU time active").lines
    assert [line.name for line in lines] == ["GPU"]


def test_without_any_row_there_is_no_course(told, incident):
    assert course(CHART, incident, {name: frame.clear() for name, frame in told.rows.items()}) is None


def test_without_any_value_there_is_no_course(told, incident):
    columns = pl.exclude("minute", "incident_id").cast(pl.Float64)
    empty = {
        name: frame.with_columns(pl.when(False).then(columns)) if "minute" in frame.columns else frame
        for name, frame in told.rows.items()
    }
    assert course(CHART, incident, empty) is None


def test_rows_of_another_incident_are_not_drawn(told, incident):
    assert course(CHART, replace(incident, id="another"), told.rows) is None


def test_a_missing_frame_is_named(told, incident):
    del told.rows["dram_course"]
    with pytest.raises(DefinitionError, match="the report has no rows called 'dram_course'"):
        course(CHART, incident, told.rows)


def test_a_missing_column_is_named(told, incident):
    told.rows["dram_course"] = told.rows["dram_course"].drop("sm_clock_mhz")
    with pytest.raises(DefinitionError, match="the rows 'dram_course' have no column 'sm_clock_mhz'"):
        course(CHART, incident, told.rows)


def test_the_digest_tells_before_during_and_the_farthest_minute(told, incident):
    value = [1.0] * 60 + [3.0, 5.0, 3.0, None] + [1.0] * 30
    start = incident.start - timedelta(minutes=60)
    minute = pl.datetime_range(start, interval="1m", end=start + timedelta(minutes=93), eager=True)
    frame = pl.DataFrame({"minute": minute, "p99_s": value, "p50_s": None, "requests": None})
    rows = {**{name: told.rows[name].clear() for name in told.rows}, "latency_course": frame}
    short = replace(incident, onset_earliest=incident.start, end=incident.start + timedelta(minutes=4))
    assert digest(course(CHART, short, rows), short) == (
        Summary(
            title="Latency",
            name="P99",
            is_alone=True,
            unit="s",
            before=1.0,
            during=3.0,
            extreme=5.0,
            extreme_at=incident.start + timedelta(minutes=1),
        ),
    )


def test_events_whose_numbers_would_lie_on_each_other_go_without(drawn):
    assert [(mark.number, is_labelled) for mark, is_labelled in numbered(drawn)] == [
        (1, True), (2, True), (3, False), (4, True), (5, True), (6, True),
    ]  # fmt: skip


def test_the_figure_shades_the_incident(drawn, incident):
    shade = figure(drawn, WORDS).layout.shapes
    assert [(shape.x0, shape.x1) for shape in shade if shape.fillcolor == "var(--incident)"] == [
        (milliseconds(incident.start), milliseconds(incident.end))
    ]


def test_the_figure_hands_its_numbers_over_in_binary(drawn):
    traces = figure(drawn, WORDS).to_plotly_json()["data"]
    assert {tuple(trace[axis]) for trace in traces for axis in ("x", "y")} == {("dtype", "bdata")}


def test_event_texts_are_no_mark_up_for_plotly(told, incident):
    entry = replace(incident.timeline[0], text='<a href="https://203.0.113.9">look</a> %{x}\x00')
    hostile = course(CHART, replace(incident, timeline=(entry,)), told.rows)
    assert figure(hostile, WORDS).data[0].customdata[0][0] == (
        '1. 01:52 &lt;a href="https://203.0.113.9"&gt;look&lt;/a&gt; %{x}⟨U+0000⟩'
    )


def test_a_long_course_is_thinned_in_the_picture_but_keeps_its_peak(drawn):
    minutes = np.arange(5000) * 60_000.0
    values = np.ones(5000)
    values[2345] = 9.0
    line = replace(drawn.strips[0].lines[0], values=values)
    long = replace(
        drawn, minutes=minutes, strips=(replace(drawn.strips[0], lines=(line,), baseline=None),), marks=()
    )
    path = drawing(long, WORDS).split('class="line line-1" d="')[1].split('"')[0]
    heights = [float(number) for number in path[1:].replace("L", " ").split(" ")[1::2]]
    assert (len(heights), heights.count(min(heights)), heights.count(max(heights))) == (301, 1, 300)


def test_an_event_outside_of_what_is_shown_is_not_marked(told, incident):
    early = replace(incident.timeline[0], at=incident.start - timedelta(days=2))
    marks = course(CHART, replace(incident, timeline=(early,)), told.rows).marks
    assert [mark.kind for mark in marks] == ["onset", "mitigation"]


def test_a_signal_that_is_zero_throughout_can_be_drawn(drawn):
    line = replace(drawn.strips[0].lines[0], values=np.zeros(drawn.minutes.size))
    flat = replace(drawn, strips=(replace(drawn.strips[0], lines=(line,), baseline=None),))
    assert drawing(flat, WORDS).count('class="line line-1"') == 1
