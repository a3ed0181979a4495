"""Every sample of Prometheus text is stored or a reject, and means what was written."""

import io
from datetime import UTC, datetime

import pytest

from tracemortem.sources import blocks, exposition
from tracemortem.sources.batch import SAMPLE, SERIES, Batch
from tracemortem.sources.catalogue import BadKeyError, parse_key

MS = "1770116527000"
AT = datetime(2026, 2, 3, 11, 2, 7, tzinfo=UTC)


def read(text: str) -> Batch:
    (batch,) = exposition.read(io.BytesIO(text.encode()))
    assert batch.records == batch.stored + batch.rejects.height
    return batch


def values(text: str) -> list[tuple[str, float | None]]:
    """(name, value) of each sample stored, in order."""
    batch = read(text)
    names = dict(batch.rows["series"].select("series_no", "name").iter_rows())
    return [
        (names[number], value)
        for number, value in batch.rows["sample"].select("series_no", "value").iter_rows()
    ]


def test_the_rows_have_the_declared_columns():
    rows = read(f"a 1 {MS}\n").rows
    assert (rows["series"].schema, rows["sample"].schema) == (SERIES, SAMPLE)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e+06", 1e6),
        ("7", 7.0),
        ("-0.5", -0.5),
        ("+Inf", float("inf")),
        ("-Inf", float("-inf")),
        ("NaN", None),
        ("nan", None),
    ],
)
def test_a_value_is_read_as_go_writes_it_and_nan_is_null(written: str, value: float | None):
    assert values(f"a {written} {MS}\n") == [("a", value)]


@pytest.mark.parametrize("stamp", [MS, "1770116527", "1770116527.000", "1770116527.0"])
def test_a_timestamp_is_milliseconds_or_by_its_size_or_point_seconds(stamp: str):
    assert read(f"a 1 {stamp}\n").rows["sample"]["at"].to_list() == [AT]


def test_comments_blank_lines_and_eof_are_no_records():
    batch = read(f"# HELP a b\n# TYPE a gauge\n\n  \n# NOTE x\na 1 {MS}\n# EOF\n")
    assert (batch.records, batch.stored, batch.rows["sample"]["line"].to_list()) == (1, 1, [6])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a 1", "no timestamp"),
        ('a{x="1"} 1', "no timestamp"),
        (f"a one {MS}", "the value is no number: one"),
        ("a 1 tomorrow", "the timestamp is no time: tomorrow"),
        ("a 1 -1", "the timestamp is no time: -1"),
        ("a 1 -1.5", "the timestamp is no time: -1.5"),
        ("a 1 99999999999999999999", "the timestamp is no time: 99999999999999999999"),
        (f'a{{x="1",x="2"}} 1 {MS}', "the label x stands twice"),
        (f'a{{x="1" y="2"}} 1 {MS}', "the labels are malformed"),
        (f"a{{x=1}} 1 {MS}", "the labels are malformed"),
        (f'{{x="1"}} 1 {MS}', "the metric has no name"),
        (f"9a 1 {MS}", "the name is no metric name"),
        ("a", "no value"),
    ],
)
def test_a_malformed_sample_is_a_reject_with_line_and_reason(line: str, reason: str):
    batch = read(f"b 1 {MS}\n{line}\n")
    assert (batch.stored, batch.rejects.rows()) == (1, [(2, reason, line)])


def test_labels_are_unescaped_sorted_and_those_without_a_value_left_out():
    (labels,) = read(f'a{{z="1",b="q\\"\\\\\\n",c="",}} 1 {MS}\n').rows["series"]["labels"].to_list()
    assert labels == [{"key": "b", "value": 'q"\\\n'}, {"key": "z", "value": "1"}]


@pytest.mark.parametrize(
    "line",
    [
        f'a{{x="}} 5"}} 7 {MS}',
        f'a{{x="é"}} 7 {MS}',
        f'a{{x="1"}}7 {MS}',
        f'a {{x="1"}}  7   {MS}  ',
        f'a\t{{x="1"}}\t7\t{MS}',
        f'{{"a",x="1"}} 7 {MS}',
        f'{{__name__="a", x="1"}} 7 {MS}',
        f'a{{x="1"}} 7 {MS} # {{trace_id="t"}} 0.67 1520879607.789',
    ],
)
def test_a_sample_is_read_however_it_is_written(line: str):
    assert values(line + "\n") == [("a", 7.0)]


def test_the_same_series_with_labels_in_another_order_is_one_series():
    batch = read(f'a{{x="1",y="2"}} 1 {MS}\na{{y="2",x="1"}} 2 {MS}\n')
    assert (batch.rows["series"].height, batch.rows["sample"]["series_no"].to_list()) == (1, [0, 0])


def test_the_type_of_a_histogram_is_that_of_its_parts_and_they_count():
    text = f'# TYPE h histogram\nh_bucket{{le="1"}} 1 {MS}\nh_sum 1 {MS}\nh_count 1 {MS}\nh_created 1 {MS}\n'
    found = read(text).rows["series"].select("name", "metric_type", "is_counter").rows()
    assert found == [
        ("h_bucket", "histogram", True),
        ("h_sum", "histogram", True),
        ("h_count", "histogram", True),
        ("h_created", None, False),
    ]


def test_a_created_series_typed_counter_does_not_count():
    assert read(f"# TYPE a_created counter\na_created 1 {MS}\n").rows["series"]["is_counter"].to_list() == [
        False
    ]


def test_type_and_unit_may_stand_behind_the_samples():
    text = f"a_total 1 {MS}\n# TYPE a counter\n# UNIT a_total seconds\n"
    found = read(text).rows["series"].select("metric_type", "is_counter", "unit").rows()
    assert found == [("counter", True, "seconds")]


def test_a_field_written_by_two_names_is_taken_from_the_newer_alone():
    text = f'vllm:gpu_cache_usage_perc{{pod="p"}} 0.5 {MS}\nvllm:kv_cache_usage_perc{{pod="p"}} 0.5 {MS}\n'
    found = read(text).rows["series"].select("name", "field").sort("name").rows()
    assert found == [
        ("vllm:gpu_cache_usage_perc", None),
        ("vllm:kv_cache_usage_perc", "kv_cache_usage_ratio"),
    ]


def test_an_old_name_alone_is_the_field():
    assert read(f"vllm:gpu_cache_usage_perc 0.5 {MS}\n").rows["series"]["field"].to_list() == [
        "kv_cache_usage_ratio"
    ]


def test_cache_config_info_is_one_record_and_gives_its_figures_as_samples_of_their_own():
    labels = 'block_size="16",num_gpu_blocks="22000",enable_prefix_caching="True",pod="p"'
    batch = read(f"vllm:cache_config_info{{{labels}}} 1.0 {MS}\n" * 2)
    fields = batch.rows["series"]["field"].to_list()
    samples = batch.rows["sample"].sort("series_no").select("line", "value").rows()
    assert (batch.records, batch.stored) == (2, 2)
    assert fields == [None, "gpu_blocks", "block_size_tokens", "is_prefix_caching"]
    assert samples == [
        (1, 1.0),
        (2, 1.0),
        (1, 22000.0),
        (2, 22000.0),
        (1, 16.0),
        (2, 16.0),
        (1, 1.0),
        (2, 1.0),
    ]


def test_blank_sentinels_of_dcgm_are_null():
    assert values(f"DCGM_FI_DEV_MEMORY_TEMP 9223372036854775794 {MS}\n") == [
        ("DCGM_FI_DEV_MEMORY_TEMP", None)
    ]


def test_a_series_is_given_once_in_the_batch_where_it_first_occurs(monkeypatch: pytest.MonkeyPatch):
    cut = blocks.blocks
    monkeypatch.setattr(blocks, "blocks", lambda stream: cut(stream, 64))
    text = "".join(f'a{{x="{number % 3}"}} {number} {MS}\n' for number in range(30))
    batches = list(exposition.read(io.BytesIO(text.encode())))
    assert len(batches) > 5
    assert [number for batch in batches for number in batch.rows["series"]["series_no"]] == [0, 1, 2]
    assert [line for batch in batches for line in batch.rows["sample"]["line"]] == list(range(1, 31))


@pytest.mark.parametrize(
    ("key", "name", "labels"),
    [
        ("a", "a", {}),
        ("a{}", "a", {}),
        ('a:b{x="1", y = "2" ,}', "a:b", {"x": "1", "y": "2"}),
        ('{"na me","l.x"="v"}', "na me", {"l.x": "v"}),
        ('a{x="{}\\\\"}', "a", {"x": "{}\\"}),
    ],
)
def test_a_key_is_name_and_labels(key: str, name: str, labels: dict[str, str]):
    assert parse_key(key) == (name, labels)


@pytest.mark.parametrize(
    "key", ["", "{", "a{", "a}", 'a{x="1"', 'a{x="1}', "a{x}", 'a{"x"}', "a b", "a{,}", 'a{x="1"}}']
)
def test_a_key_that_is_none_is_refused(key: str):
    with pytest.raises(BadKeyError):
        parse_key(key)


def test_a_dump_is_in_milliseconds_whatever_their_size():
    (batch,) = exposition.read_dump(io.BytesIO(b'{__name__="a", b="c"} 1 60000\n'))
    assert batch.rows["sample"]["at"].to_list() == [datetime(1970, 1, 1, 0, 1, tzinfo=UTC)]
