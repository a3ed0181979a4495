"""How sure a cause is."""

from pathlib import Path

import pytest

from tracemortem import folders
from tracemortem.errors import DefinitionError
from tracemortem.explain.confidence import Confidence, read
from tracemortem.incident import Cause

TABLE = Confidence(
    {
        ("established", False): 0.9, ("established", True): 0.8, ("likely", False): 0.7,
        ("likely", True): 0.6, ("possible", False): 0.5, ("possible", True): 0.4,
    }
)  # fmt: skip


def cause(kind: str, verdict: str, role: str = "primary") -> Cause:
    return Cause(kind, role, verdict, "", ())


def given(*causes: Cause) -> list[float | None]:
    return [one.confidence for one in TABLE.of(causes)]


def test_a_cause_alone_has_the_confidence_of_its_verdict():
    assert given(cause("gpu_throttle", "likely")) == [0.7]


def test_what_only_contributes_has_none_and_leaves_the_primary_cause_alone():
    assert given(cause("gpu_throttle", "established"), cause("a", "likely", "contributing")) == [0.9, None]


def test_of_two_primary_causes_each_is_less_sure():
    assert given(cause("gpu_throttle", "established"), cause("traffic_surge", "possible")) == [0.8, 0.4]


def test_an_unknown_cause_has_no_confidence():
    assert given(cause("unknown", "possible")) == [None]


def test_stronger_verdicts_are_surer_in_the_table_that_ships():
    shares = read(folders.definitions("explain", "confidence.yaml")).shares
    for is_beside in (False, True):
        order = [shares[verdict, is_beside] for verdict in ("established", "likely", "possible")]
        assert order == sorted(order, reverse=True)


@pytest.mark.parametrize("share", ["1.2", "-0.1", "high", "null"])
def test_a_share_that_is_none_is_refused(tmp_path: Path, share: str):
    path = tmp_path / "confidence.yaml"
    path.write_text(
        f"source: x\nestablished: {{alone: {share}, beside_others: 0.5}}\n"
        "likely: {alone: 0.5, beside_others: 0.5}\npossible: {alone: 0.5, beside_others: 0.5}\n"
    )
    with pytest.raises(DefinitionError, match="established"):
        read(path)
