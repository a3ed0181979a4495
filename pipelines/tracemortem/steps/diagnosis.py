"""How the diagnosis passes from step to step: as JSON in meta.diagnosis."""

import polars as pl
from pydantic import TypeAdapter

from tracemortem.errors import WarehouseError
from tracemortem.incident import Diagnosis
from tracemortem.steps.asked import Asked
from tracemortem.warehouse.store import Store

_DIAGNOSIS = TypeAdapter(Diagnosis)


def keep(store: Store, diagnosis: Diagnosis) -> None:
    """Put it in the place of the one before."""
    store.replace("meta.diagnosis", [pl.DataFrame({"diagnosis": [_DIAGNOSIS.dump_json(diagnosis).decode()]})])


def kept(asked: Asked) -> Diagnosis:
    """The diagnosis as it was kept, in the work file or in a published one.

    raises   WarehouseError where there is none, or one that another version kept
    """
    try:
        return _DIAGNOSIS.validate_json(asked.frame("select diagnosis from meta.diagnosis").item())
    except ValueError as error:
        raise WarehouseError(
            "there is no diagnosis that this version reads",
            where="meta.diagnosis",
            why="only files were ingested, or another version looked for incidents",
            fix="run `tracemortem postmortem` on the inputs with this version",
        ) from error
