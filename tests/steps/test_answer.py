"""Whatever DuckDB answers can be written down."""

import polars as pl

from tracemortem.steps.answer import csv, json_lines

NESTED = pl.DataFrame(
    {"n": [1, 2], "labels": [{"gpu": "0"}, None], "many": [[1.5, None], []], "text": ['say "so"', None]}
)


def test_csv_has_a_header_and_nested_values_as_json():
    assert csv(NESTED) == ('n,labels,many,text\n1,"{""gpu"":""0""}","[1.5,null]","say ""so"""\n2,,[],\n')


def test_an_answer_without_rows_has_its_header():
    assert csv(NESTED.clear()) == "n,labels,many,text\n"


def test_an_answer_without_columns_is_empty():
    assert csv(pl.DataFrame()) == ""


def test_json_lines_are_an_object_a_row():
    assert json_lines(NESTED.select("n", "many")) == '{"n":1,"many":[1.5,null]}\n{"n":2,"many":[]}\n'
