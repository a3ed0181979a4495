"""Step 3: requests into incidents."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import polars as pl

from tracemortem import settings as options
from tracemortem.detect.annotated import annotated
from tracemortem.detect.baseline import stated
from tracemortem.detect.failures import failures
from tracemortem.detect.given import given
from tracemortem.detect.incidents import incidents
from tracemortem.detect.quiet import Busy, quiet_stretches
from tracemortem.detect.spikes import spikes
from tracemortem.detect.watches import READ, watches
from tracemortem.incident import Annotation, Spike
from tracemortem.progress import stage
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.steps.annotations import kept
from tracemortem.steps.diagnosis import touches
from tracemortem.warehouse.store import Store

_WATCHED = """
    from norm.request
    where
        counts_for_latency
        and started_at >= coalesce($time_from, '-infinity'::timestamptz)
        and started_at < coalesce($time_to, 'infinity'::timestamptz)
"""
_REQUESTS = f"""
    select
        service, model, started_at, duration_s as latency_s, ttft_s, tpot_s, queue_s,
        -- an answer that failed or that nobody waited for might have taken longer
        coalesce(status >= 499, false) as is_cut
    {_WATCHED}
    order by service, started_at, request_key
"""
_FATES = """
    select service, started_at, status >= 499 as is_failed
    from norm.request
    where
        not is_probe
        and status is not null
        and started_at >= coalesce($time_from, '-infinity'::timestamptz)
        and started_at < coalesce($time_to, 'infinity'::timestamptz)
    order by service, started_at, request_key
"""
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "incident_id": pl.String, "service": pl.String, "status": pl.String, "metric": pl.String,
    "started_at": pl.Datetime("us", "UTC"), "ended_at": pl.Datetime("us", "UTC"),
    "onset_earliest": pl.Datetime("us", "UTC"), "onset_latest": pl.Datetime("us", "UTC"),
    "baseline_start": pl.Datetime("us", "UTC"), "baseline_end": pl.Datetime("us", "UTC"),
    "baseline_from": pl.String, "recording_end": pl.Datetime("us", "UTC"), "reason": pl.String,
    "is_given": pl.Boolean, "has_risen": pl.Boolean, "annotation": pl.String,
}  # fmt: skip
_BUSY: dict[str, pl.DataType | type[pl.DataType]] = {
    "service": pl.String, "from_at": pl.Datetime("us", "UTC"), "to_at": pl.Datetime("us", "UTC"),
}  # fmt: skip


def detect(settings: Settings) -> int:
    """Find the incidents, or take the window that the user gives, into raw.incident; returns how many."""
    with opened.store(settings) as store, stage("detection") as told:
        requests = store.frame(_REQUESTS, _bounds(settings))
        numbers = opened.values(settings)
        looks = watches(overrides={name: numbers[name] for name in READ})
        watch = looks["request_latency"]
        said = kept(store)
        usual = (
            None
            if settings.baseline is None
            else options.span(settings.baseline, settings.timezone, "--baseline")
        )
        fates = store.frame(_FATES, _bounds(settings))
        shown = [*(spikes(requests, each) for each in looks.values()), failures(fates, watch)]
        found = annotated(incidents(shown, numbers["merge_minutes"]), said, requests, watch)
        busy = [*_busy(found, said)]
        store.replace("raw.busy", [pl.DataFrame(busy, schema=_BUSY, orient="row")])
        if settings.window is not None:
            start, end = options.span(settings.window, settings.timezone)
            [spike] = given(requests, watch, start, end, found, usual)
            own = [one for one in said if one.fits(spike.service, spike.start, spike.end)]
            found = annotated([spike], own, requests, watch)
        if usual is not None:
            found = stated(found, requests, usual, watch)
        every = pl.concat([each.select("service", "started_at") for each in (requests, fates)])
        ends = dict(every.group_by("service").agg(pl.col("started_at").max()).iter_rows())
        rows = [_row(spike, _after(ends[spike.service])) for spike in found if _is_told(spike, settings)]
        store.replace("raw.incident", [pl.DataFrame(rows, schema=SCHEMA, orient="row")])
        stretches = quiet_stretches(requests, found, [*busy, *_busy(found, ())], watch, numbers)
        quiet = [_row(each, each.end) for each in stretches]
        store.replace("raw.quiet", [pl.DataFrame(quiet, schema=SCHEMA, orient="row")])
        told.advance(0, requests.height)
    return len(rows)


def _is_told(spike: Spike, settings: Settings) -> bool:
    """Whether it is told of: of a day only those that touch it; the others are the days' around it."""
    return settings.day is None or touches(spike.start, spike.end, *options.day_bounds(settings.day))


def _busy(spikes: Sequence[Spike], annotations: Sequence[Annotation]) -> Iterator[Busy]:
    """Every stretch in which a service was not as usual, by what was found and by what is said."""
    for spike in spikes:
        yield spike.service, min(spike.onset_earliest, spike.start), spike.end
    for annotation in annotations:
        if annotation.end is not None:
            yield annotation.service, annotation.start, annotation.end


def watched(store: Store, settings: Settings) -> int:
    """How many requests detection looks at."""
    return int(str(store.scalar(f"select count(*) {_WATCHED}", _bounds(settings))))


def _bounds(settings: Settings) -> dict[str, datetime | None]:
    return {
        "time_from": _bound(settings.time_from, settings, "--from"),
        "time_to": _bound(settings.time_to, settings, "--to"),
    }


def _bound(text: str | None, settings: Settings, option: str) -> datetime | None:
    return None if text is None else options.instant(text, settings.timezone, option)


def _after(last_arrival: datetime) -> datetime:
    """The end of a recording in whole minutes: of that of the last arrival."""
    return last_arrival.replace(second=0, microsecond=0) + timedelta(minutes=1)


def _row(spike: Spike, recording_end: datetime | None) -> tuple[object, ...]:
    return (
        spike.incident_id, spike.service, spike.status, spike.metric, spike.start, spike.end,
        spike.onset_earliest, spike.onset_latest, spike.baseline_start, spike.baseline_end,
        spike.baseline_from,
        recording_end, spike.reason, spike.is_given, spike.has_risen, spike.annotation,
    )  # fmt: skip
