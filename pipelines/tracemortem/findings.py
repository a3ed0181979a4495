"""The words rooms share for what is measured of an incident. Units as in `incident`."""

from dataclasses import dataclass
from datetime import datetime


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
    promql                the same condition for Prometheus; None where no usual metric tells it
    hold_minutes          how long it must hold before it fires
    """

    rule: str
    status: str
    would_have_fired_at: datetime | None
    lead_seconds: float | None
    false_alarms_per_day: float | None
    text: str
    promql: str | None
    hold_minutes: int


@dataclass(frozen=True)
class Movement:
    """How one signal moved. value, baseline: means over the minutes of the incident and of its baseline.

    low, high   95 % interval of their difference
    p, q        probability of such a difference by chance; the same for all signals that were looked at
    verdict     changed, unchanged (shown to be the same) or undecided
    onset_earliest, onset_latest  when the change began, 95 %; None where it cannot be told
    order       before, after or not_resolvable: against latency's onset; None where one has none
    """

    signal: str
    title: str
    unit: str
    value: float
    baseline: float
    low: float
    high: float
    p: float
    q: float
    verdict: str
    onset_earliest: datetime | None
    onset_latest: datetime | None
    order: str | None


@dataclass(frozen=True)
class Item:
    """One value of one attribute of requests."""

    attribute: str
    value: str


@dataclass(frozen=True)
class Segment:
    """Requests that have one value in common, or two, and that stand out in an incident.

    role               culprit: it brought load beyond its usual share; victim: it did not
    by                 slowness: its requests were slow for what they asked, more often than others;
                       load: only what it brought stands out
    requests           its requests in the incident, slow_requests of them slow for what they asked
    slow_ratio         slow_requests / requests; other_slow_ratio: the same of all other requests
    risk_ratio         slow_ratio / other_slow_ratio, low and high its 95 % interval
    g, p, q            G-test of what it stands out by, 1 degree of freedom; q: adjusted for all looked at
    stratified_by      attribute within whose values the risk ratio differs most from the plain one
    stratified_ratio   risk ratio within equal values of that (Mantel and Haenszel)
    is_confounded      found by slowness, and the two contradict each other or lie far apart
    work_share         its share of the expected service time in the incident, work_share_before: in the
                       baseline; share_of_excess: of the rise between them, None where there was none
    """

    role: str
    by: str
    items: tuple[Item, ...]
    requests: int
    slow_requests: int
    slow_ratio: float
    other_slow_ratio: float
    risk_ratio: float
    low: float
    high: float
    g: float
    p: float
    q: float
    stratified_by: str | None
    stratified_ratio: float | None
    is_confounded: bool
    work_share: float
    work_share_before: float
    share_of_excess: float | None


@dataclass(frozen=True)
class Tally:
    """How often chance was tried for one incident. found: what stands at the false discovery rate `rate`.

    signals, evidence, segments, ranges   tests of each kind, found or not; all are adjusted together
    """

    rate: float
    found: int
    signals: int
    evidence: int
    segments: int
    ranges: int


@dataclass(frozen=True)
class Tried:
    """A hypothesis in quiet stretches: in how many it could be tested, and in how many it was supported.

    upper   share of such stretches in which it is supported at most, with 95 % certainty; None if it never
            could be tested
    """

    kind: str
    tested: int
    supported: int
    upper: float | None


@dataclass(frozen=True)
class Placebo:
    """What would be blamed where nothing happened. status: tested or not_testable; text says why.

    stretches   quiet stretches of the incident's service; minutes: length of each
    alarmed     in how many any hypothesis is supported
    upper       share of such stretches that are at most, with 95 % certainty
    """

    status: str
    stretches: int
    minutes: float | None
    alarmed: int | None
    upper: float | None
    rules: tuple[Tried, ...]
    text: str


@dataclass(frozen=True)
class Reset:
    """A factor put back in a replay. p99_s: the incident's then; share: of the rise that goes."""

    name: str
    p99_s: float
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Replay:
    """The recorded requests through a model of the engine.

    status            quantified, ranked (too rough for figures) or not_available; text says why
    coverage          share of the requests of baseline and incident of which all that a replay needs is known
    is_cache_told     whether cached tokens were recorded: cache_from is then recorded; else it is blocks
                      (what a cache of cache_blocks finds, by the hashes of prompts' blocks) or prefills
                      (inferred from their times)
    before, during    P99 in s, recorded and replayed
    law               seconds a step, a prefill token, a decoding sequence, a token of its context, and a
                      prefill token times the tokens it attends to
    slowest           of any replica in any five minutes: steps last so many times as long as usual
    step_tokens       computed in a step at most; running: requests at once
    kv_blocks         of an engine, each of block_tokens; None: not known, and taken as never short
    kv_tokens         low and high of their tokens, where they are told from their use
    cache_blocks      of prompts as they are hashed, that an engine's cache holds; None: hashes or size are
                      not known
    hits              share of the prompts' tokens that it finds, before and in the incident
    """

    status: str
    text: str
    coverage: float | None = None
    is_cache_told: bool | None = None
    before_recorded_s: float | None = None
    before_replayed_s: float | None = None
    during_recorded_s: float | None = None
    during_replayed_s: float | None = None
    law: tuple[float, ...] = ()
    slowest: float | None = None
    step_tokens: int | None = None
    running: int | None = None
    kv_blocks: int | None = None
    block_tokens: int | None = None
    kv_tokens: tuple[float, float] | None = None
    cache_from: str | None = None
    cache_blocks: int | None = None
    hits: tuple[float, float] | None = None
    resets: tuple[Reset, ...] = ()


@dataclass(frozen=True)
class Range:
    """A predicted figure and how far it may be off."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Forecast:
    """An incident as a policy would have made it: P50 and P99 of those served, in s; None where none are.

    short, long      below long_context_tokens, and from there on
    before_p99_s     of the baseline, with the policy in force
    hit_ratio        cached share of the prompts, 0 to 1
    rejected         of so many requests of the incident, by the policy; rejected_before: of the baseline
    unfit            never answered, as they fit in no engine's memory even without a policy
    elsewhere        answered from a cache of answers or by another model
    cut              answers that end early
    """

    p50_s: Range | None
    p99_s: Range | None
    short_p50_s: Range | None
    short_p99_s: Range | None
    long_p50_s: Range | None
    long_p99_s: Range | None
    before_p99_s: Range | None
    hit_ratio: Range | None
    rejected: int
    rejected_before: int
    unfit: int
    elsewhere: int
    cut: int
    requests: int


@dataclass(frozen=True)
class WhatIf:
    """One policy, tried on the recorded requests.

    status       quantified, ranked (the order of policies only) or not_available; text says why
    effort       1 a setting or a rule, 2 routing or code, 3 hardware
    assumes      what must hold besides, a sentence each
    rank         by predicted P99 among those tried, 1 the lowest; None where not available
    fit_error    of the replayed P99 against the recorded, relative
    objective_s  what the P99 was held to: the objective, or without one where an incident is over;
                 keeps: yes, perhaps (the range crosses it) or no
    is_cheapest  of those that keep it: the smallest share refused or cut short, then the least effort
    predicted    None unless quantified
    """

    policy: str
    title: str
    status: str
    text: str
    effort: int
    assumes: tuple[str, ...]
    rank: int | None
    fit_error: float | None
    objective_s: float | None
    keeps: str | None
    is_cheapest: bool
    predicted: Forecast | None
