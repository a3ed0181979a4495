"""What was done about it, whether it helped, and the course of events."""

from collections.abc import Mapping
from datetime import datetime
from math import sqrt
from typing import Any

import polars as pl

from tracemortem.explain.signals import figure
from tracemortem.incident import Evidence, Mitigation, Spike, TimelineEntry

_SQL = "sql/evidence/recovery.sql"
_BESIDE_SQL = "sql/evidence/named_replica.sql"
_DONE = ("mitigation", "rollback", "fix", "remediation")
_SLOW = 0.01  # of the requests lie above a 99th percentile
_SURE = 1.645  # standard deviations: 95 %, on one side
_BETWEEN = 1.96  # the same, on both
_GRAIN_S = 60  # an incident ends with a minute: what was noted within it cannot be told from the end itself


def mitigations(
    recovery: pl.DataFrame,
    named: pl.DataFrame,
    spike: Spike,
    baseline_s: float | None,
    peak_s: float | None,
    recording_end: datetime,
    settings: Mapping[str, float],
) -> tuple[Mitigation, ...]:
    """What people did, each with a verdict on whether latency came back.

    recovery       evidence.recovery of one incident, one row an event
    named          evidence.named_replica of it
    baseline_s     the incident's baseline, P99 in seconds; peak_s the P99 of its window
    recording_end  end of what was recorded of the service
    settings       recovered_ratio, after_minutes, recovered_requests, traffic_left_ratio, effect_minutes
                   (thresholds.yaml)

    Verified is the last thing that was done before latency came back, if that was soon, and latency stayed
    down with the traffic still there: with 95 % certainty no more than a hundredth of the requests was slower
    than recovered_ratio times the baseline's P99. What was done earlier had not helped by the time of the
    next.
    """
    rows = [row for row in recovery.to_dicts() if row["kind"] in _DONE]
    done_at = [row["happened_at"] for row in rows]
    found = []
    for row in rows:
        if spike.end is None:
            status = _status_so_far(row["happened_at"], recording_end, settings)
        elif _is_out_of_the_question(row["happened_at"], done_at, spike.end, settings):
            status = "not_verified"
        else:
            status = _status_afterwards(row, baseline_s, peak_s, settings)
        facts = (*_evidence(row, baseline_s, settings), *_beside_others(named, row, settings))
        found.append(Mitigation(row["happened_at"], row["text"], status, facts))
    return tuple(found)


def without_change(
    engines_s: float, cache_too_s: float, recorded_s: float, *, usual_s: float, error: float
) -> tuple[Evidence, Evidence]:
    """What a replay says of the requests after an incident, had the service stayed as it was in it.

    engines_s    their P99 in seconds with engines, replicas and the way to them as in the incident
    cache_too_s  the same where prompts also find as little in the cache; recorded_s: as it was recorded
    usual_s      up to which a P99 is as usual
    error        of the replay, relative

    Where it would have been as usual all the same, it is the requests that changed: the traffic left, or it
    was kept out. Which of these, the replay cannot tell; nor whether a cache was mended, or left in peace.
    """

    def is_surely(p99_s: float, sign: int) -> bool:
        return sign * p99_s * (1 - sign * error) > sign * usual_s

    if recorded_s > usual_s:
        so = "it was not back to what is usual"
    elif is_surely(engines_s, 1):
        so = "so it is the service itself that recovered"
    elif not is_surely(engines_s, -1):
        so = "which is too near to the usual to tell whether service or requests changed"
    elif is_surely(cache_too_s, 1):
        so = "so it is what prompts find in the cache that changed: it was mended, or who evicted it was gone"
    elif is_surely(cache_too_s, -1):
        so = "so it is the requests that changed: some left, or were kept out"
    else:
        so = "so it is the requests that changed, or what they found in the cache"
    return (
        Evidence(
            "replay.unchanged_p99_s",
            "P99 of the requests after the end, replayed with engines, replicas and the way to them as in "
            f"the incident: {figure(engines_s, 's')} where {figure(recorded_s, 's')} were recorded",
            engines_s,
            None,
            "s",
            "",
        ),
        Evidence(
            "replay.unchanged_cache_p99_s",
            "the same, and as little of prompts as long found in the cache: "
            f"{figure(cache_too_s, 's')}; {so}",
            cache_too_s,
            None,
            "s",
            "",
        ),
    )


def timeline(
    spike: Spike,
    peak_minute: datetime | None,
    peak_s: float | None,
    recovery: pl.DataFrame,
    earlier: pl.DataFrame,
    *,
    is_given: bool,
) -> tuple[TimelineEntry, ...]:
    """The course of events: what was measured, and what people noted.

    recovery  evidence.recovery of one incident
    earlier   happened_at, kind, text of the events shortly before it
    is_given  start and end are the user's, not measured
    """
    began, ended = (
        ("start of the window that was given", "end of the window that was given")
        if is_given
        else ("latency began to rise", "latency was back in its usual range")
    )
    latest = spike.onset_latest if spike.onset_latest > spike.onset_earliest else None
    found = [
        TimelineEntry(spike.onset_earliest, latest, "requests", began),
        *(
            TimelineEntry(row["happened_at"], None, "events", f"{row['kind']}: {row['text']}")
            for frame in (earlier, recovery)
            for row in frame.to_dicts()
        ),
    ]
    if peak_minute is not None and peak_s is not None:
        found.append(TimelineEntry(peak_minute, None, "requests", f"worst minute, P99 {figure(peak_s, 's')}"))
    if spike.end is not None:
        found.append(TimelineEntry(spike.end, None, "requests", ended))
    return tuple(sorted(found, key=lambda entry: (entry.at, entry.source, entry.text)))


def _status_so_far(done_at: datetime, recording_end: datetime, settings: Mapping[str, float]) -> str:
    """Of what was done in an incident that still goes on: it failed once it has had its time."""
    had_s = (recording_end - done_at).total_seconds()
    return "not_verified" if had_s > 60 * settings["effect_minutes"] else "not_testable"


def _is_out_of_the_question(
    done_at: datetime, all_done_at: list[datetime], end: datetime, settings: Mapping[str, float]
) -> bool:
    """Whether it cannot be what ended the incident, or cannot be told to be."""
    took_s = (end - done_at).total_seconds()
    if took_s < -_GRAIN_S or took_s > 60 * settings["effect_minutes"]:
        return True
    # something else was tried, since latency was not back yet
    return any(other <= end and (other - done_at).total_seconds() > _GRAIN_S for other in all_done_at)


def _status_afterwards(
    row: Mapping[str, Any], baseline_s: float | None, peak_s: float | None, settings: Mapping[str, float]
) -> str:
    """Whether latency was back after the end, and stayed so, for that reason."""
    p99_s, minutes, requests = row["p99_after_s"], row["minutes_after"] or 0, row["requests_after"] or 0
    if baseline_s is None or peak_s is None or p99_s is None or minutes < settings["after_minutes"]:
        return "not_testable"
    usual_s = settings["recovered_ratio"] * baseline_s
    if peak_s <= usual_s:  # of a window that was given: there was nothing to come back from
        return "not_testable"
    has_enough = requests >= settings["recovered_requests"]
    if has_enough and p99_s > usual_s:
        return "not_verified"
    if row["requests_ratio"] < settings["traffic_left_ratio"]:
        return "traffic_left"
    upper = _at_most_slower(row)
    return "verified" if has_enough and upper is not None and upper <= _SLOW else "not_testable"


def _at_most_slower(row: Mapping[str, Any]) -> float | None:
    """Share of the requests after the end that took longer than they may, at most, with 95 % certainty.

    Wilson's interval (1927).
    """
    if not row["requests_after"] or row["slower_after"] is None:
        return None
    telling = _telling(row["requests_after"], row["slower_spread"])
    share, square = row["slower_after"] / row["requests_after"], _SURE**2
    half = _SURE * sqrt(share * (1 - share) / telling + square / (4 * telling**2))
    return float((share + square / (2 * telling) + half) / (1 + square / telling))


def _evidence(
    row: Mapping[str, Any], baseline_s: float | None, settings: Mapping[str, float]
) -> tuple[Evidence, ...]:
    found = []
    if row["p99_after_s"] is not None:
        found.append(
            Evidence(
                "recovery.p99_after_s",
                f"P99 over the {row['minutes_after']:.0f} minutes after the end: "
                f"{figure(row['p99_after_s'], 's')} over {row['requests_after']:,} requests; "
                f"usual {figure(baseline_s, 's')}",
                row["p99_after_s"],
                baseline_s,
                "s",
                _SQL,
            )
        )
    upper = _at_most_slower(row)
    if upper is not None and row["p99_after_s"] is not None:
        found.append(
            Evidence(
                "recovery.slower_ratio",
                f"{row['slower_after']:,} of them took longer than {settings['recovered_ratio']:g} times the "
                f"usual P99: {100 * upper:.2f} % at most, with 95 % certainty, and {100 * _SLOW:g} % may",
                row["slower_after"] / row["requests_after"],
                None,
                "ratio",
                _SQL,
            )
        )
    if row["minutes_to_end"] is not None:
        minutes = round(row["minutes_to_end"])
        side = "after" if minutes >= 0 else "before"
        found.append(
            Evidence(
                "recovery.minutes_to_end",
                f"the incident ended {abs(minutes)} min {side} it",
                row["minutes_to_end"],
                None,
                "min",
                _SQL,
            )
        )
    return tuple(found)


def _beside_others(
    named: pl.DataFrame, row: Mapping[str, Any], settings: Mapping[str, float]
) -> tuple[Evidence, ...]:
    """What was done to the replicas that it names, less what befell the others: a difference in differences.

    Of shares of slow requests, with 95 % certainty; those that come together tell as much as fewer.
    """
    of = named.filter(happened_at=row["happened_at"], text=row["text"]).sort("is_named", "is_after")
    if of.is_empty():
        return ()
    others, others_then, theirs, theirs_then = (of["slower"] / of["requests"]).to_list()
    difference = (theirs_then - theirs) - (others_then - others)
    half = _BETWEEN * sqrt(sum(_variance(group) for group in of.to_dicts()))
    p99_s = [figure(value, "s") for value in of["p99_s"]]
    so = "no sure difference"
    if abs(difference) > half:
        so = f"they fared {'better' if difference < 0 else 'worse'} than the others"
    return (
        Evidence(
            "named_replica.slower_difference",
            f"of replicas it names ({of['replicas'][2]}), P99 went from {p99_s[2]} to {p99_s[3]} within "
            f"{settings['effect_minutes']:g} min, of the others ({of['replicas'][0]}) from {p99_s[0]} to "
            f"{p99_s[1]}; their share of requests slower than {settings['recovered_ratio']:g} times the "
            f"usual P99 changed by {100 * difference:+.1f} points more ({100 * (difference - half):+.1f} to "
            f"{100 * (difference + half):+.1f}, with 95 % certainty): {so}",
            difference,
            None,
            "ratio",
            _BESIDE_SQL,
        ),
    )


def _variance(group: Mapping[str, Any]) -> float:
    """Of a share of slow requests: Agresti and Caffo (2000), who count one more slow and one more not."""
    telling = _telling(group["requests"], group["spread"])
    share = (group["slower"] / group["requests"] * telling + 1) / (telling + 2)
    return float(share * (1 - share) / (telling + 2))


def _telling(requests: int, spread: float | None) -> float:
    """How many requests that come independently tell as much about who is slow as these.

    Slow requests come together: as many times fewer as their number by minute varies more than a Poisson
    variable.
    """
    return requests / max(spread or 1.0, 1.0)
