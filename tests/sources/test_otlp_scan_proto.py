"""Compiled code reads messages of protobuf to the same rows and rejects as opentelemetry-proto."""

import io
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, TracesData
from otlp_made import damaged, message

from tracemortem.sources import otlp_proto, otlp_scanned
from tracemortem.sources.batch import Batch
from tracemortem.sources.otlp_frames import Frame

AT = 1_777_142_984_578_685_500
NEVER = 1 << 62
CORPUS = Path("../shared/corpus/otlp/opentelemetry-proto-2024-pb")


def _traces(*spans: Span) -> bytes:
    scopes = [ScopeSpans(spans=spans)]
    return TracesData(resource_spans=[ResourceSpans(scope_spans=scopes)]).SerializeToString()


def _span(**fields: object) -> Span:
    usual = {"trace_id": bytes(range(16)), "span_id": bytes(range(1, 9)), "name": "llm_request"}
    return Span(**{**usual, "start_time_unix_nano": AT, "end_time_unix_nano": AT + 1500, **fields})


def _with(key: str, value: AnyValue) -> Span:
    return _span(attributes=[KeyValue(key=key, value=value)])


def _around(span: bytes) -> bytes:
    """A message of one span, by its bytes, of fewer than 120."""
    scope = bytes([0x12, len(span)]) + span
    resource = bytes([0x12, len(scope)]) + scope
    return bytes([0x0A, len(resource)]) + resource


def _framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def _read(file: bytes, from_bytes: int) -> list[Batch]:
    """The batches of a file, of which compiled code reads those from so many bytes on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(otlp_proto, "LARGE", from_bytes)
        return list(otlp_proto.read(io.BytesIO(file)))


def _told(batches: list[Batch]) -> list[object]:
    return [
        (
            {name: (frame.schema, frame.rows()) for name, frame in batch.rows.items()},
            batch.rejects.rows(),
            (batch.records, batch.stored, batch.bytes_read, batch.names),
        )
        for batch in batches
    ]


def _are_read_alike(file: bytes) -> bool:
    # as text: NaN is not equal to itself
    return repr(_told(_read(file, 0))) == repr(_told(_read(file, NEVER)))


def _left(*bodies: bytes) -> list[int]:
    """The messages that compiled code leaves to the exact reader, by number from 1."""
    frames = [Frame(number, body, "", len(body)) for number, body in enumerate(bodies, 1)]
    return [frame.number for frame in otlp_scanned.messages(frames)[1]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**64))
def test_messages_of_any_content_are_read_as_the_exact_reader_reads_them(seed: int) -> None:
    random = Random(seed)
    assert _are_read_alike(_framed(*(message(random).SerializeToString() for _ in range(6))))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**64))
def test_damaged_messages_are_read_as_the_exact_reader_reads_them(seed: int) -> None:
    random = Random(seed)
    assert _are_read_alike(_framed(*(damaged(message(random).SerializeToString(), random) for _ in range(6))))


@pytest.mark.parametrize("name", ["trace", "metrics"])
def test_messages_of_the_corpus_are_read_as_the_exact_reader_reads_them(name: str) -> None:
    path = CORPUS / f"{name}.protobuf-bin"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    assert _are_read_alike(_framed(path.read_bytes()))


def test_messages_as_exporters_write_them_are_not_left_to_the_exact_reader() -> None:
    values = (
        AnyValue(string_value="é"),
        AnyValue(int_value=-7),
        AnyValue(double_value=0.0),
        AnyValue(bool_value=False),
        AnyValue(array_value=ArrayValue(values=[AnyValue(string_value="10.0.0.1")])),
    )
    spans = [_with("gen_ai.request.id", value) for value in values]
    assert _left(_traces(*spans), _traces(_span(parent_span_id=bytes(8), kind=2))) == []


ODD = {
    "no message": b"\xff",
    "nothing": b"",
    "cut off": _traces(_span())[:-1],
    "a resource that another signal's message may have as well": b"\x0a\x00",
    "spans without a start": _traces(_span(start_time_unix_nano=0)),
    "a start after 2262": _traces(_span(start_time_unix_nano=1 << 63)),
    "an id of another length": _traces(_span(trace_id=b"7")),
    "a text that is no UTF-8": _traces(_span(name="llm_reqüest")).replace("ü".encode(), b"\xfc\xfc"),
    "a group": _traces(_span()) + b"\x0b\x0c",
    "a field of number 0": _traces(_span()) + b"\x00\x00",
    "one field twice": _around(_span().SerializeToString() + b"\x2a\x05other"),
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_an_odd_message_is_left_to_the_exact_reader_and_costs_no_other(body: bytes) -> None:
    usual = _traces(_span())
    assert _left(usual, body, usual) == [2]
    assert _are_read_alike(_framed(usual, body, usual))


def test_a_field_of_another_type_is_passed_over_as_parsers_do() -> None:
    name, kind = b"\x28\x07", b"\x31" + bytes(8)  # as numbers that these fields do not hold
    body = _around(_span().SerializeToString() + name + kind)
    assert _left(body) == []
    assert _are_read_alike(_framed(body))


def test_an_attribute_whose_value_stands_before_its_name_is_read() -> None:
    plain = _traces(_with("gen_ai.request.id", AnyValue(string_value="r1")))
    key, value = b"\x0a\x11gen_ai.request.id", b"\x12\x04\x0a\x02r1"
    swapped = plain.replace(key + value, value + key)
    assert swapped != plain
    (batch,) = _read(_framed(swapped), 0)
    assert batch.rows["span"]["request_id"].to_list() == ["r1"]


def test_of_an_attribute_that_comes_twice_the_last_counts_also_if_it_holds_nothing_that_is_read() -> None:
    named = [
        KeyValue(key="gen_ai.request.id", value=value)
        for value in (AnyValue(string_value="r1"), AnyValue(bytes_value=b"r2"))
    ]
    body = _traces(_span(attributes=named))
    assert _left(body) == []
    (batch,) = _read(_framed(body), 0)
    assert batch.rows["span"]["request_id"].to_list() == [None]


def test_messages_that_say_next_to_nothing_are_a_reject_each() -> None:
    (batch,) = _read(_framed(*([b"\x0a"] * 5000)), 0)
    assert (batch.records, batch.stored, batch.rejects.height) == (5000, 0, 5000)


def test_from_the_first_large_batch_on_messages_are_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned: list[int] = []

    def messages(frames: list[Frame]) -> object:
        scanned.append(len(frames))
        return [], frames

    monkeypatch.setattr(otlp_scanned, "messages", messages)
    monkeypatch.setattr(otlp_proto, "BLOCK", 1000)
    body = _traces(_span(name="x" * 400))
    assert len(_read(_framed(*[body] * 5), 900)) == 2
    assert scanned == [3, 2]
    assert len(_read(_framed(body), 900)) == 1
    assert scanned == [3, 2]
