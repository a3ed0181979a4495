"""What is compared on OTLP finds the same in a small input."""

from pathlib import Path

import otlp_loop
import otlp_protobuf
import polars as pl
import pytest
from otlp_traces import bodies
from polars.testing import assert_frame_equal

from tracemortem.sources import otlp_proto

SPANS = 700


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Messages of so many spans, in two batches."""
    return otlp_protobuf.written(tmp_path_factory.mktemp("inputs"), SPANS)


def _ours(file: Path) -> pl.DataFrame:
    with file.open("rb") as stream:
        return pl.concat(batch.rows["span"] for batch in otlp_proto.read(stream))


@pytest.mark.parametrize("name", otlp_protobuf.METHODS)
def test_every_method_finds_the_same_spans(name: str, file: Path, tmp_path: Path) -> None:
    tokens = _ours(file)["prompt_tokens"].sum()
    found = f"{SPANS} spans" if name.endswith("parse alone") else f"{SPANS} rows, sum {tokens}"
    assert otlp_protobuf.METHODS[name](file, tmp_path) == found


@pytest.mark.parametrize("from_bytes", [0, 1 << 62])
def test_a_loop_over_the_messages_makes_the_same_columns(
    from_bytes: int, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_proto, "LARGE", from_bytes)
    assert_frame_equal(pl.concat(otlp_loop.frames(bodies(file))), _ours(file))
