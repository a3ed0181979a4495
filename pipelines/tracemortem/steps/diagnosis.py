"""How the diagnosis passes from step to step: as JSON in meta.diagnosis."""

import polars as pl
from pydantic import TypeAdapter

from tracemortem.incident import Diagnosis
from tracemortem.warehouse.store import Store

_DIAGNOSIS = TypeAdapter(Diagnosis)


def keep(store: Store, diagnosis: Diagnosis) -> None:
    """Put it in the place of the one before."""
    store.replace("meta.diagnosis", pl.DataFrame({"diagnosis": [_DIAGNOSIS.dump_json(diagnosis).decode()]}))


def kept(store: Store) -> Diagnosis:
    """The diagnosis as it was kept."""
    return _DIAGNOSIS.validate_json(str(store.scalar("select diagnosis from meta.diagnosis")))
