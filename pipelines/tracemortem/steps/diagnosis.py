"""How the diagnosis passes from step to step: as JSON in meta.diagnosis."""

import polars as pl
from pydantic import TypeAdapter

from tracemortem.incident import Diagnosis
from tracemortem.steps.asked import Asked
from tracemortem.warehouse.store import Store

_DIAGNOSIS = TypeAdapter(Diagnosis)


def keep(store: Store, diagnosis: Diagnosis) -> None:
    """Put it in the place of the one before."""
    store.replace("meta.diagnosis", [pl.DataFrame({"diagnosis": [_DIAGNOSIS.dump_json(diagnosis).decode()]})])


def kept(asked: Asked) -> Diagnosis:
    """The diagnosis as it was kept, in the work file or in a published one."""
    return _DIAGNOSIS.validate_json(asked.frame("select diagnosis from meta.diagnosis").item())
