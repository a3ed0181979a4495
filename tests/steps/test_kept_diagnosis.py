"""The diagnosis of an earlier run, where there is none to be read."""

from pathlib import Path

import polars as pl
import pytest

from tracemortem.errors import WarehouseError
from tracemortem.steps.diagnosis import kept
from tracemortem.warehouse.store import Store


@pytest.mark.parametrize("stored", [[], ["{}"], ["no JSON"]], ids=["none", "another version's", "junk"])
def test_a_file_without_a_diagnosis_that_can_be_read_is_told_what_to_run(tmp_path: Path, stored: list[str]):
    with Store(tmp_path / "out.duckdb", threads=1) as store:
        store.replace("meta.diagnosis", [pl.DataFrame({"diagnosis": stored}, {"diagnosis": pl.String})])
        with pytest.raises(WarehouseError, match="run `tracemortem postmortem` on the inputs"):
            kept(store)
