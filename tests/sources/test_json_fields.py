"""JSON lines by path: what is no line of the format is told apart, line by line."""

import io

import polars as pl

from tracemortem.sources.declared_formats import formats
from tracemortem.sources.json_fields import extracted
from tracemortem.sources.lines import read

FORMS = {form.name: form for form in formats()}


def rows(*lines: str) -> list[tuple[str | None, ...]]:
    return extracted(pl.Series(lines), ["a"], ["a", "b.c", "b.d.0"]).rows()


def test_numbers_texts_and_the_first_of_a_list_are_given_as_text():
    assert rows('{"a": 1e-5, "b": {"c": "x", "d": ["y", "z"]}}') == [("0.00001", "x", "y")]


def test_all_entries_of_a_list_are_a_list_and_numbers_keep_every_digit():
    found = extracted(
        pl.Series(['{"h": [18446744073709551557, 7]}', '{"h": []}', '{"h": null, "a": 1}']), ["h.*"], ["h.*"]
    )
    assert found["h.*"].to_list() == [["18446744073709551557", "7"], [], None]


def test_what_is_missing_is_null_and_a_line_without_what_it_needs_is_all_null():
    assert rows('{"a": true}', '{"b": {"c": "x"}}', '{"a": null, "b": {"c": "x"}}') == [
        ("true", None, None),
        (None, None, None),
        (None, None, None),
    ]


def test_a_bad_line_takes_no_other_with_it():
    good = '{"a": 1}'
    bad = ['{"a": 1', "[1]", "3", "", '{"a": {"b": 1}}', '{"a": 1, "b": 2}', '{"a": 1}{"a": 2}']
    found = rows(*[good, *bad] * 40)
    assert found == [("1", None, None), *[(None, None, None)] * len(bad)] * 40


def test_two_lines_that_only_together_are_json_are_bad_both():
    assert rows('{"a": 1},{"a": 2}', '{"a": "x}', '{y"}')[1:] == [(None, None, None)] * 2


def test_every_line_is_a_row_or_a_reject_with_its_number():
    good = '{"StartUTC":"2026-02-03T11:02:07Z","Duration":1,"DownstreamStatus":200,"RequestMethod":"GET"}\n'
    text = good + "DEBUG: x\n" + good[:30] + "\n\n" + good.replace("11:02", "11:99") + good
    (batch,) = read(io.BytesIO(text.encode()), FORMS["traefik_json"])
    assert (batch.records, batch.rows["access"]["line"].to_list()) == (5, [1, 6])
    assert batch.rejects.select("line", "reason").rows() == [
        (2, "no line of traefik_json"),
        (3, "no line of traefik_json"),
        (5, "StartUTC gives no started_at: 2026-02-03T11:99:07Z"),
    ]
