"""The words rooms share. Instants are UTC datetimes, durations seconds, shares 0 to 1; None is not known."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Evidence:
    """One measured fact, with what it was before and the SQL that measured it."""

    id: str
    text: str
    value: float | None
    baseline: float | None
    unit: str
    sql: str


@dataclass(frozen=True)
class Cause:
    """A supported hypothesis. role: primary or contributing. verdict: established, likely or possible."""

    kind: str
    role: str
    verdict: str
    text: str
    evidence: tuple[Evidence, ...]
    confidence: float | None = None
    share: float | None = None
    share_low: float | None = None
    share_high: float | None = None


@dataclass(frozen=True)
class NotCause:
    """A hypothesis that is not blamed. verdict: ruled_out, not_supported or not_testable."""

    kind: str
    verdict: str
    text: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Source:
    """An address range. role: culprit or victim. collateral: share of its requests that are innocent."""

    cidr: str
    role: str
    requests: int
    tokens: int | None
    share_of_excess: float | None
    collateral: float | None
    text: str


@dataclass(frozen=True)
class TimelineEntry:
    """Something that happened, at an instant or somewhere in an interval."""

    at: datetime
    at_latest: datetime | None
    source: str
    text: str


@dataclass(frozen=True)
class Mitigation:
    """What people did, and whether it helped (verified, not_verified, traffic_left or not_testable)."""

    at: datetime
    text: str
    status: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Part:
    """A part of a quantile's rise, in seconds, with its 95 % interval. part: mix, cache or interference."""

    part: str
    seconds: float
    low: float
    high: float
    share: float | None


@dataclass(frozen=True)
class Split:
    """What the rise of the P99 is made of. status: estimated or not_testable.

    baseline, peak      P99 over the requests of known length, in seconds
    effective_requests  requests of the baseline that carry the estimate (Kish's effective sample size)
    new_share           share of the incident's requests of a kind that the baseline does not have
    """

    status: str
    baseline: float | None
    peak: float | None
    parts: tuple[Part, ...]
    effective_requests: float | None
    new_share: float | None
    text: str


@dataclass(frozen=True)
class Alert:
    """What an alert rule would have done. status: fired, silent or not_testable.

    lead_seconds          how long before the latency alarm it would have fired; negative: after it
    false_alarms_per_day  firings in quiet time; None where too little of that was recorded
    """

    rule: str
    status: str
    would_have_fired_at: datetime | None
    lead_seconds: float | None
    false_alarms_per_day: float | None
    text: str


@dataclass(frozen=True)
class Impact:
    """Who felt it, over the incident's window."""

    requests: int
    requests_slowed: int | None
    clients: int | None
    excess_seconds: float | None
    errors: int | None


@dataclass(frozen=True)
class Spike:
    """A stretch in which a service's latency stood far above its own past. end None: still going on."""

    service: str
    status: str
    start: datetime
    end: datetime | None
    onset_earliest: datetime
    onset_latest: datetime
    metric: str
    baseline_start: datetime
    baseline_end: datetime
    baseline_from: str
    reason: str


@dataclass(frozen=True)
class Incident:
    """One incident, explained. baseline, peak: quantile of the request latency, in seconds."""

    id: str
    service: str
    status: str
    start: datetime
    end: datetime | None
    onset_earliest: datetime
    onset_latest: datetime
    metric: str
    baseline: float | None
    peak: float | None
    peak_minute: datetime | None
    baseline_from: str
    reason: str
    impact: Impact
    causes: tuple[Cause, ...] = ()
    not_causes: tuple[NotCause, ...] = ()
    sources: tuple[Source, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    mitigation: tuple[Mitigation, ...] = ()
    alerts: tuple[Alert, ...] = ()
    decomposition: Split | None = None


@dataclass(frozen=True)
class InputFile:
    """One file that was offered. rows + rejects is what stood in it. kind `skipped` says why in format.

    sha256   None if it could not be opened
    """

    path: str
    sha256: str | None
    bytes: int
    kind: str
    format: str
    rows: int
    rejects: int
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True)
class QualityCheck:
    """Something about the data that limits what can be said. status: ok, warn or fail."""

    check: str
    status: str
    text: str
    limits: str


@dataclass(frozen=True)
class Diagnosis:
    """Everything a report says."""

    window_from: datetime | None
    window_to: datetime | None
    timezone: str
    inputs: tuple[InputFile, ...]
    quality: tuple[QualityCheck, ...]
    incidents: tuple[Incident, ...] = field(default=())
