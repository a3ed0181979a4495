"""The jobs as Prefect flows: the same composition, each step a task with retries, artifacts and logs.

`prefect deploy` reads them from prefect.yaml; `--prefect` on the command line runs them at once.
"""

import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

# Nothing is sent anywhere, and nothing is fetched: set before Prefect reads its settings.
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from tracemortem import pipeline
from tracemortem.errors import TracemortemError
from tracemortem.pipeline import Outcome, Settings

RETRY_AFTER_S: list[float] = [5, 30]

P = ParamSpec("P")
R = TypeVar("R")


def as_task(function: Callable[P, R], /) -> Callable[P, R]:
    """A step as a task: tried again after a passing fault, never after one that a person must mend."""
    return task(
        name=function.__name__,
        retries=len(RETRY_AFTER_S),
        retry_delay_seconds=RETRY_AFTER_S,
        retry_condition_fn=_is_passing,
        cache_policy=NO_CACHE,  # a step's result is what it does to the store
        log_prints=False,
    )(function)


@flow(name="ingest", flow_run_name="ingest", log_prints=False)
def ingest(settings: Settings) -> Outcome:
    """Load files into the DuckDB file; loading the same files again changes nothing."""
    outcome = pipeline.ingest(settings, step=as_task)
    _note(outcome)
    return outcome


@flow(name="postmortem", flow_run_name="postmortem", log_prints=False)
def postmortem(settings: Settings) -> Outcome:
    """Load files, find and explain incidents, write the report."""
    outcome = pipeline.postmortem(settings, step=as_task)
    _note(outcome)
    if outcome.report is not None:
        create_link_artifact(
            key="postmortem-report",
            link=f"file://{os.path.abspath(outcome.report)}",  # noqa: PTH100 (a link names the path as given)
            link_text="The report",
            description="\n".join(outcome.lines),
        )
    return outcome


@flow(name="daily", flow_run_name="daily", log_prints=False)
def daily(settings: Settings) -> Outcome:
    """Load new files into a warehouse and report every day that is over and not reported yet.

    What is due the warehouse tells, not Prefect: a run does whatever the ones before it missed.
    """
    outcome = pipeline.daily(settings, step=as_task)
    _note(outcome)
    if outcome.report is not None:
        create_link_artifact(
            key="daily-report",
            link=f"file://{os.path.abspath(outcome.report)}",  # noqa: PTH100 (a link names the path as given)
            link_text="The report of the last day",
            description="\n".join(outcome.lines),
        )
    return outcome


@flow(name="what-if", flow_run_name="what-if", log_prints=False)
def what_if(settings: Settings, incident: str, own: tuple[str, ...] = (), as_json: bool = False) -> str:
    """What policies would have done about an incident of a published file."""
    found = pipeline.policies(settings, incident, own, step=as_task, as_json=as_json)
    create_markdown_artifact(
        key="what-if", markdown=f"```\n{found}\n```", description=f"Policies tried on {incident}"
    )
    return found


def _note(outcome: Outcome) -> None:
    """Say it in the run's log and as an artifact that the run's page shows."""
    logger = get_run_logger()
    for line in outcome.lines:
        logger.info("%s", line)
    for warning in outcome.warnings:
        logger.warning("%s", warning)
    create_markdown_artifact(
        key="run-summary",
        markdown="\n".join(f"- {line}" for line in outcome.lines),
        description="What the run found",
    )


def _is_passing(task: object, run: object, state: object) -> bool:
    """Whether trying again can help: not with what the user has to mend."""
    result = state.result(raise_on_failure=False)  # type: ignore[attr-defined]
    return not isinstance(result, TracemortemError)
