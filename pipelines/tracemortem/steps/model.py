"""Step 2: raw tables into facts and minutes, and what is wrong with the data."""

from tracemortem import folders
from tracemortem.errors import WarehouseError
from tracemortem.progress import stage
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.warehouse import check
from tracemortem.warehouse.build import build

STAGES = ("norm", "mart")


def model(settings: Settings) -> int:
    """Build the stages norm and mart; returns the number of requests.

    raises   WarehouseError if rows were lost on the way
    """
    sql = folders.folder("sql")
    values = opened.values(settings)
    with opened.store(settings) as store, stage("tables") as told:
        built = build(store, sql, values, STAGES)
        told.advance(0, sum(built.values()))
        # the warnings are for the report, which runs them itself
        for checked in check.run(store, sql, values, names="fail_*"):
            if checked.status == "fail":
                raise WarehouseError(
                    f"check {checked.name} failed",
                    where=checked.first,
                    why=checked.about,
                    fix="report it: the tables cannot be trusted",
                )
    return built["norm.request"]
