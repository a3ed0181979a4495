"""The words rooms share. Instants are UTC datetimes, durations seconds, shares 0 to 1; None is not known."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tracemortem.findings import Alert, Movement, Placebo, Replay, Segment, Split, Tally, WhatIf


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
    """A supported hypothesis. role: primary or contributing. verdict: established, likely or possible.

    share   of the P99's rise that goes where the cause is undone in a replay; None where no replay tells it
    reset   what of a replay undoes it; None where nothing does
    """

    kind: str
    role: str
    verdict: str
    text: str
    evidence: tuple[Evidence, ...]
    confidence: float | None = None
    share: float | None = None
    share_low: float | None = None
    share_high: float | None = None
    reset: str | None = None


@dataclass(frozen=True)
class NotCause:
    """A hypothesis that is not blamed. verdict: ruled_out, not_supported or not_testable."""

    kind: str
    verdict: str
    text: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Source:
    """An address range. role: culprit or victim. collateral: share of its requests that are innocent.

    q                 probability by chance of what a culprit sent, adjusted for everything looked at
    usual_per_minute  requests a minute that a culprit sent in the baseline
    """

    cidr: str
    role: str
    requests: int
    tokens: int | None
    share_of_excess: float | None
    collateral: float | None
    text: str
    q: float | None = None
    usual_per_minute: float | None = None


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
class Impact:
    """Who felt it, over the incident's window."""

    requests: int
    requests_slowed: int | None
    clients: int | None
    excess_seconds: float | None
    errors: int | None


# By so much may a start move when detection or its data change, and an incident still be the one that was
# named by its id.
_DRIFT = timedelta(minutes=10)
_ID = re.compile(r"(\d{8}T\d{4}Z)-(.+)", re.DOTALL)


def named_by(incident_id: str) -> tuple[datetime, str] | None:
    """The start and the service that an incident's id tells; None if it is no such id."""
    parts = _ID.fullmatch(incident_id)
    try:
        return parts and (datetime.strptime(parts[1], "%Y%m%dT%H%MZ").replace(tzinfo=UTC), parts[2])
    except ValueError:  # a thirteenth month
        return None


@dataclass(frozen=True)
class Annotation:
    """What somebody who knows says of an incident.

    said        how the incident is named: its id, or service and window
    start, end  of that window; end None where it is named by its id, which tells the start
    verdict     confirmed or dismissed; None: as it is found
    cause       kind of cause; None: as it is found
    author      who says so; None: not told
    note        why
    """

    said: str
    service: str
    start: datetime
    end: datetime | None
    verdict: str | None
    cause: str | None
    author: str | None
    note: str

    @property
    def words(self) -> str:
        """Who says so, and why, as a clause."""
        return f"by {self.author}: {self.note}" if self.author else f"by hand: {self.note}"

    def fits(self, service: str, start: datetime, end: datetime | None) -> bool:
        """Whether it speaks of the incident of that service from start to end; end None: still going on."""
        if service != self.service:
            return False
        if self.end is None:
            return start - _DRIFT <= self.start and (end is None or self.start < end)
        return start < self.end and (end is None or end > self.start)


@dataclass(frozen=True)
class Spike:
    """A stretch in which a service's latency stood far above its own past. end None: still going on.

    is_given    somebody said when it was; its start and end are not measured
    has_risen   False: given, and nothing rose in it
    annotation  Annotation.said of what was said of it; None: nothing
    model       the only model of the service that shows it; None: the service as a whole does
    """

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
    is_given: bool = False
    has_risen: bool = True
    annotation: str | None = None
    model: str | None = None

    @property
    def incident_id(self) -> str:
        """Its start and its service, as in 20260424T0217Z-ember-query."""
        return f"{self.start:%Y%m%dT%H%MZ}-{self.service}"


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
    annotation: Annotation | None = None
    movements: tuple[Movement, ...] = ()
    segments: tuple[Segment, ...] = ()
    replay: Replay | None = None
    placebo: Placebo | None = None
    tests: Tally | None = None
    what_if: tuple[WhatIf, ...] = ()


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
