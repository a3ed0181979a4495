"""A JSON text is cut into its elements, wherever the chunks that it is read in end."""

import io
import json
import random

import pytest

from tracemortem.sources.json_elements import Element, elements


def found(text: str, depth: int, size: int = 1 << 20) -> list[tuple[int, str]]:
    """Line and text of each whole element."""
    read = list(elements(io.BytesIO(text.encode()), lambda _: depth, size))
    assert [one.fault for one in read] == [""] * len(read)
    return [(one.line, one.text.decode()) for one in read]


def test_documents_stand_on_lines_or_one_behind_the_other():
    assert found('{"a": 1}{"b":\n[2]} [3]\n\n{}\n', 0) == [
        (1, '{"a": 1}'),
        (1, '{"b":\n[2]}'),
        (2, "[3]"),
        (4, "{}"),
    ]


def test_what_stands_in_a_list_of_a_document_is_two_deep():
    assert found('{"n": [],\n "data": [{"x": {}},\n  {"y": 1}], "m": 1}', 2) == [
        (2, '{"x": {}}'),
        (3, '{"y": 1}'),
    ]


def test_brackets_and_escaped_quotes_in_strings_do_not_count():
    text = json.dumps([{"a": '}]"\\'}, {'\\"{': "\\\\"}])
    assert [json.loads(one) for _, one in found(text, 1)] == json.loads(text)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64])
def test_it_does_not_matter_where_chunks_end(size: int):
    numbers = random.Random(size)
    pieces = ['"', "\\", "{", "]", "x\n", "é"]
    records = [{"k": "".join(numbers.choices(pieces, k=6)), "n": [index]} for index in range(40)]
    text = json.dumps(records, indent=numbers.choice([None, 1]), ensure_ascii=False)
    assert [json.loads(one) for _, one in found(text, 1, size)] == records


@pytest.mark.parametrize("size", [3, 1000])
def test_a_broken_line_of_json_lines_costs_its_neighbours_nothing(size: int):
    text = b'{"a": 1}\n{"b": [{"c\n{"d": 2}\nnot JSON\n\n{"e": 3}\n'
    read = list(elements(io.BytesIO(text), lambda _: 0, size))
    assert [(one.line, one.text.strip(), one.fault) for one in read] == [
        (1, b'{"a": 1}', ""),
        (2, b'{"b": [{"c', "it ends before its end"),
        (3, b'{"d": 2}', ""),
        (4, b"not JSON", "not JSON"),
        (6, b'{"e": 3}', ""),
    ]


def test_a_lost_quote_mars_only_its_line():
    text = '[{"a": "x},\n {"b": 1}\n]'
    read = list(elements(io.BytesIO(text.encode()), lambda _: 1))
    assert [(one.line, one.text.decode(), one.fault) for one in read] == [
        (1, text[1:], ""),  # its bracket was in the string that never ended: what reads it refuses it
        (3, "", "the text ends before the document does"),
    ]


def test_an_element_too_long_is_given_as_its_beginning():
    text = '[{"a": "' + "x" * 5000 + '"}, {"b": 1}]'
    first, second = elements(io.BytesIO(text.encode()), lambda _: 1, 100, 3000)
    assert (first.text[:9], len(first.text), first.fault) == (b'{"a": "xx', 800, "longer than 0 MiB")
    assert second == Element(1, b'{"b": 1}', len(text) - 1)


def test_a_document_cut_off_between_its_elements_is_told():
    assert list(elements(io.BytesIO(b'[{"a": 1},\n'), lambda _: 1)) == [
        Element(1, b'{"a": 1}', 9),
        Element(2, b"", 11, "the text ends before the document does"),
    ]


def test_a_bracket_too_many_closes_nothing():
    assert found("]}[{}]", 1) == [(1, "{}")]


@pytest.mark.parametrize(
    "cut", ['{\n  "b": [\n', '{\n  "b": 1\n}}}\n', '{\n "b": "x\n}\n', '{\n "b": [}\n}\n']
)
def test_an_indented_document_that_is_broken_costs_its_neighbours_nothing(cut: str):
    good = '{\n  "a": [\n    {"c": "{"}\n  ]\n}\n'
    read = list(elements(io.BytesIO((good + cut + good + good).encode()), lambda _: 0))
    after = 6 + cut.count("\n")
    whole = [(one.line, one.text.decode()) for one in read if not one.fault and one.line != 6]
    assert whole == [(1, good[:-1]), (after, good[:-1]), (after + 5, good[:-1])]


def test_the_indentation_of_a_large_element_does_not_make_it_too_long():
    record = {"a": [{"b": [[index]]} for index in range(100)]}
    text = json.dumps([record], indent=8)
    (one,) = elements(io.BytesIO(text.encode()), lambda _: 1, 100, len(text) // 2)
    assert (json.loads(one.text), one.fault) == (record, "")
