"""The rows that one incident is explained from, as queries over the published tables."""

from collections.abc import Mapping
from typing import Any

from tracemortem.incident import Spike

WORST_MINUTE = """
    select
        latency.minute,
        latency.p99_s
    from mart.latency_minute as latency
    inner join evidence.phase
        on
            latency.service = phase.service
            and latency.minute >= phase.from_at
            and latency.minute < phase.to_at
    where phase.incident_id = $id and phase.phase = 'during' and latency.p99_s is not null
    -- a 99th percentile of a handful of requests is their maximum: fuller minutes first
    order by latency.measured >= 20 desc, latency.p99_s desc, latency.minute
    limit 1
"""
LENGTHS = """
    select
        phase,
        time_bucket(interval 1 minute, started_at) as minute,
        duration_s,
        prompt_tokens,
        output_tokens,
        cached_tokens
    from evidence.request_phase
    where incident_id = $id and phase in ('baseline', 'during') and counts_for_latency
    order by all
"""
SIGNALS = """
    select
        minute,
        signal,
        value,
        every_s
    from mart.signal_minute
    where service = $service
    order by signal, minute
"""
SKEW = """
    select max(greatest(abs(offset_low_s), abs(offset_high_s)))
    from mart.clock_offset
    where service = $service
"""
BUSY = """
    select
        least(other.onset_earliest, other.started_at),
        coalesce(other.ended_at, other.recording_end)
    from raw.incident as other
    inner join raw.incident on other.service = incident.service
    where incident.incident_id = $id and (other.status = 'confirmed' or other.incident_id = $id)
    order by other.started_at, other.incident_id
"""
EARLIER = """
    select
        event.happened_at,
        event.kind,
        event.text
    from norm.event
    inner join raw.incident
        on
            event.happened_at < incident.started_at
            and event.happened_at >= incident.started_at - $lead_minutes * interval 1 minute
    where incident.incident_id = $id
    order by event.happened_at, event.kind, event.text
"""
SEGMENTS = """
    select * exclude (incident_id)
    from evidence.segment
    where incident_id = $id
    order by all
"""
NETWORKS = "from evidence.source where incident_id = $id order by is_ipv4, client_bits"


def spike(row: Mapping[str, Any]) -> Spike:
    """A row of raw.incident, or of raw.quiet, as what detection found."""
    return Spike(
        service=row["service"],
        status=row["status"],
        start=row["started_at"],
        end=row["ended_at"],
        onset_earliest=row["onset_earliest"],
        onset_latest=row["onset_latest"],
        metric=row["metric"],
        baseline_start=row["baseline_start"],
        baseline_end=row["baseline_end"],
        baseline_from=row["baseline_from"],
        reason=row["reason"],
        is_given=row["is_given"],
        has_risen=row["has_risen"],
        annotation=row["annotation"],
    )
