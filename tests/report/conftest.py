"""A made-up incident, whole: long prompts from three address ranges evict a prefix cache."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tracemortem.incident import (
    Cause,
    Diagnosis,
    Evidence,
    Impact,
    Incident,
    InputFile,
    Mitigation,
    NotCause,
    QualityCheck,
    Source,
    TimelineEntry,
)

DAY = datetime(2026, 3, 11, tzinfo=UTC)


@dataclass(frozen=True)
class Told:
    """What render.write takes."""

    diagnosis: Diagnosis
    rows: dict[str, pl.DataFrame]

    def with_incident(self, **changes: object) -> "Told":
        """The same, with other values in its only confirmed incident."""
        first, *rest = self.diagnosis.incidents
        incidents = (replace(first, **changes), *rest)  # type: ignore[arg-type]
        return replace(self, diagnosis=replace(self.diagnosis, incidents=incidents))


def at(clock: str) -> datetime:
    hours, minutes = clock.split(":")
    return DAY + timedelta(hours=int(hours), minutes=int(minutes))


SHARE = Evidence(
    "E1", "share of prompts of 4,096 tokens or more", 0.384, 0.051, "ratio", "sql/evidence/long_context.sql"
)
MEAN = Evidence(
    "E2", "mean length of a long prompt", 8742.0, 6120.0, "tokens", "sql/evidence/long_context.sql"
)
HITS = Evidence("E3", "prefix-cache hits", 0.617, 0.912, "ratio", "sql/evidence/cache_drop.sql")
EVICTIONS = Evidence("E4", "evictions", 142.0, 18.0, "1/min", "sql/evidence/cache_drop.sql")
DRAM = Evidence("E5", "share of time GPU memory was active", 0.873, 0.604, "ratio", "sql/evidence/dram.sql")
CLOCK = Evidence("E6", "lowest SM clock", 1965.0, 1980.0, "MHz", "sql/evidence/gpu_clock.sql")
RETRIES = Evidence("E7", "requests repeated within 30 s", 0.004, 0.0038, "ratio", "sql/evidence/retries.sql")
AFTER = Evidence("E8", "P99 in the 10 minutes after", 1.38, 3.79, "s", "sql/evidence/mitigation.sql")


def an_incident() -> Incident:
    return Incident(
        id="20260311T0217Z-clause-desk",
        service="clause-desk",
        status="confirmed",
        start=at("2:17"),
        end=at("2:46"),
        onset_earliest=at("2:15"),
        onset_latest=at("2:17"),
        metric="p99_s",
        baseline=1.21,
        peak=3.79,
        peak_minute=at("2:31"),
        baseline_from="the same hours of the day before and the 75 minutes before 02:15",
        reason="P99 stood at 3.1 times its past for 29 minutes; 1.5 times for 5 minutes make an incident.",
        impact=Impact(requests=6842, requests_slowed=4410, clients=1127, excess_seconds=5631.4, errors=0),
        causes=(
            Cause(
                "long_context_surge",
                "primary",
                "established",
                "Prompts of 4,096 tokens or more rose from 5.1 % to 38.4 % of requests two minutes before"
                " latency rose; requests with short prompts slowed as well.",
                (SHARE, MEAN),
                confidence=0.93,
                share=0.71,
                share_low=0.58,
                share_high=0.83,
            ),
            Cause(
                "cache_pollution",
                "contributing",
                "likely",
                "The long prompts took the KV blocks of others: hits fell while evictions rose eightfold.",
                (HITS, EVICTIONS),
                confidence=0.78,
                share=0.22,
                share_low=0.1,
                share_high=0.35,
            ),
            Cause(
                "memory_bandwidth_saturation",
                "contributing",
                "possible",
                "Decoding slowed together with the time GPU memory was active.",
                (DRAM,),
                confidence=0.52,
            ),
        ),
        not_causes=(
            NotCause("gpu_throttle", "ruled_out", "Clocks held their usual value on all 8 GPUs.", (CLOCK,)),
            NotCause("retry_storm", "ruled_out", "Repeats stayed as rare as before.", (RETRIES,)),
            NotCause("traffic_surge", "not_supported", "Requests rose by 3 % only.", ()),
            NotCause(
                "kv_preemption_thrash",
                "not_testable",
                "no counter of preemptions was recorded; vllm:num_preemptions_total would have shown it.",
                (),
            ),
        ),
        sources=(
            Source("198.51.100.0/26", "culprit", 1322, 11_604_312, 0.46, 0.02, "a batch that began at 02:14"),
            Source("203.0.113.64/27", "culprit", 804, 6_911_040, 0.27, 0.0, "a batch that began at 02:14"),
            Source("2001:db8:40::/48", "culprit", 501, 4_310_117, 0.17, 0.11, "a batch that began at 02:15"),
            Source("192.0.2.0/24", "victim", 3015, 961_410, None, None, "most of the slowed short prompts"),
        ),
        timeline=(
            TimelineEntry(at("1:52"), None, "events", "deploy: web front end 41.7"),
            TimelineEntry(at("2:14"), at("2:15"), "requests", "long prompts begin to rise"),
            TimelineEntry(at("2:15"), at("2:17"), "requests", "P99 begins to rise"),
            TimelineEntry(at("2:22"), None, "events", "page: P99 above 2 s"),
            TimelineEntry(
                at("2:41"), None, "events", "mitigation: prompts over 2,048 tokens to a queue of their own"
            ),
            TimelineEntry(at("2:46"), None, "requests", "P99 is back"),
        ),
        mitigation=(
            Mitigation(
                at("2:41"), "prompts over 2,048 tokens went to a queue of their own.", "verified", (AFTER,)
            ),
        ),
    )


MEASURED = {
    "sql/evidence/long_context.sql": "latency_minute",
    "sql/evidence/cache_drop.sql": "cache_minute",
    "sql/evidence/dram.sql": "gpu_minute",
    "sql/evidence/gpu_clock.sql": "gpu_minute",
    "sql/evidence/retries.sql": "client_minute",
    "sql/evidence/mitigation.sql": "latency_minute",
}


def a_query(table: str) -> str:
    return f"-- One row per incident.\nselect incident_id, avg(value) as value\nfrom mart.{table}\ngroup by 1"


def a_candidate() -> Incident:
    return replace(
        an_incident(),
        id="20260311T0055Z-clause-desk",
        status="candidate",
        start=at("0:55"),
        end=at("0:58"),
        onset_earliest=at("0:55"),
        onset_latest=at("0:55"),
        baseline=1.19,
        peak=1.9,
        peak_minute=at("0:56"),
        reason="it lasted 3 minutes; 5 are needed",
        impact=Impact(412, None, None, None, None),
        causes=(),
        not_causes=(),
        sources=(),
        timeline=(),
        mitigation=(),
    )


def a_diagnosis() -> Diagnosis:
    return Diagnosis(
        window_from=at("0:00"),
        window_to=at("4:00"),
        timezone="Asia/Shanghai",
        inputs=(
            InputFile(
                "otel/spans.jsonl.gz",
                "3f" * 32,
                18_412_551,
                "spans",
                "otlp_json",
                91_204,
                3,
                at("0:00"),
                at("4:00"),
            ),
            InputFile(
                "nginx/access.log.gz",
                "a0" * 32,
                2_204_118,
                "access",
                "nginx_gateway",
                45_602,
                2,
                at("0:00"),
                at("4:00"),
            ),
            InputFile(
                "dcgm/gpu.prom.gz",
                "7c" * 32,
                804_112,
                "samples",
                "prometheus_text",
                142_080,
                0,
                at("0:00"),
                at("4:00"),
            ),
            InputFile("README.md", "09" * 32, 812, "skipped", "prose, not telemetry", 0, 0, None, None),
        ),
        quality=(
            QualityCheck("clocks", "ok", "Gateway and engine clocks differ by 21 ms at most.", ""),
            QualityCheck(
                "gpu samples",
                "warn",
                "GPUs were sampled every 15 s.",
                "What happened within 15 s on a GPU cannot be told.",
            ),
        ),
        incidents=(an_incident(), a_candidate()),
    )


def the_rows() -> dict[str, pl.DataFrame]:
    random = np.random.default_rng(7)
    minute = pl.datetime_range(at("0:00"), at("3:59"), "1m", time_zone="UTC", eager=True)
    clock = np.arange(240)
    inside = np.clip((clock - 135) / 6, 0, 1) * np.clip((166 - clock) / 8, 0, 1)
    noise = random.normal(1, 0.05, (6, 240))
    incident = pl.lit("20260311T0217Z-clause-desk").alias("incident_id")
    hits = pl.Series((0.912 - 0.3 * inside) * noise[2] ** 0.2)
    course = pl.DataFrame(
        {
            "minute": minute,
            "requests": (236 * noise[5]).astype(np.int64),
            "p50_s": (0.42 + 0.31 * inside) * noise[0],
            "p95_s": (0.9 + 1.5 * inside) * noise[0],
            "p99_s": (1.19 + 2.75 * inside) * noise[1],
        }
    ).with_columns(incident)
    return {
        "latency_course": course,
        "long_context_course": pl.DataFrame(
            {"minute": minute, "long_context_ratio": (0.05 + 0.335 * inside) * noise[3]}
        ).with_columns(incident),
        "replay_course": pl.DataFrame(
            schema={"incident_id": pl.String, "minute": pl.Datetime("us", "UTC")}
            | dict.fromkeys(("recorded_p99_s", "replayed_p99_s", "unchanged_p99_s"), pl.Float64)
        ),
        "cache_course": pl.DataFrame({"minute": minute, "hit_ratio": hits})
        .with_columns(incident)
        .filter(~pl.col("minute").is_between(at("1:40"), at("1:48"))),
        "dram_course": pl.DataFrame(
            {
                "minute": minute,
                "dram_active_ratio": (0.604 + 0.27 * inside) * noise[4] ** 0.4,
                "gpu_util_ratio": (0.66 - 0.02 * inside) * noise[0] ** 0.4,
                "sm_clock_mhz": np.full(240, 1980.0),
            }
        ).with_columns(incident),
        "engine_state": pl.DataFrame(
            {
                "signal": ["prefill throughput", "decode P99", "prefix hits", "evictions", "block wait P99"],
                "baseline": [350.0, 0.031, 0.912, 18.0, None],
                "value": [287.0, 0.067, 0.617, 142.0, 0.017],
                "unit": ["tokens/s", "s", "ratio", "1/min", "s"],
            }
        ).with_columns(incident),
        "rejects": pl.DataFrame(
            {
                "path": ["otel/spans.jsonl.gz", "nginx/access.log.gz"],
                "line": [88_121, 4_012],
                "reason": ["the line is not JSON", "the line does not fit the format"],
                "excerpt": ['{"resourceSpans":[{"resource":{"attri', "\\x16\\x03\\x01 | 400 | `-`"],
                "count": [3, 2],
            },
            schema_overrides={"line": pl.UInt64, "count": pl.UInt64},
        ),
        "attribute_names": pl.DataFrame(
            {
                "path": ["otel/spans.jsonl.gz", "otel/spans.jsonl.gz"],
                "field": ["prompt_tokens", "model"],
                "name": ["gen_ai.usage.input_tokens", "gen_ai.request.model"],
                "count": [45_600, 45_600],
            }
        ),
        "strongest_minute": pl.DataFrame(
            {
                "service": ["chat"],
                "minute": [at("2:10")],
                "requests": [120],
                "p99_s": [1.4],
                "usual_s": [1.0],
                "times": [1.4],
                "high_minutes": [0],
                "least_times": [1.5],
                "least_minutes": [3.0],
            }
        ),
        "clock_offset": pl.DataFrame(
            {
                "service": ["chat", "chat"],
                "gateway_host": ["edge-1", "edge-1"],
                "engine_host": ["gpu-1", "gpu-2"],
                "requests": [4_100, 4_000],
                "offset_low_s": [-0.0062, 3.91],
                "offset_high_s": [-0.0049, 0.02],
                "has_moved": [False, True],
            }
        ),
        "methods": pl.DataFrame(
            {"name": list(MEASURED), "sql": [a_query(table) for table in MEASURED.values()]}
        ),
        "prompt_lengths": pl.DataFrame(
            {
                "service": ["chat", "help"],
                "long_from_tokens": [6_300, 4_096],
                "chosen": ["valley", "default"],
                "why": ["the lengths part here", "the lengths have no clear second mode"],
                "counted": [45_000, 600],
                "long_ratio": [0.08, 0.0],
                "short_mean_tokens": [2_311.0, 850.0],
                "long_mean_tokens": [17_450.0, None],
            }
        ),
        "thresholds": pl.DataFrame(
            {
                "name": ["long_context_tokens", "incident_rise"],
                "value": [4096.0, 1.5],
                "unit": ["tokens", "times"],
                "why": ["a prompt from here on counts as long", "less is seen on quiet days"],
                "source": ["measured on quiet days", "measured on quiet days"],
            }
        ),
    }


@pytest.fixture
def told() -> Told:
    return Told(a_diagnosis(), the_rows())


HOSTILE = "<script>alert(1)</script> | `x` [y](javascript:alert(2)) \x00\u202e\n# z\n\n***"


@pytest.fixture
def hostile(told: Told) -> Told:
    """The same report, with a stranger's string wherever a string can come from data."""
    evidence = (Evidence(HOSTILE, HOSTILE, 1.0, None, HOSTILE, HOSTILE),)
    first, candidate = told.diagnosis.incidents
    first = replace(
        first,
        service=HOSTILE,
        reason=HOSTILE,
        baseline_from=HOSTILE,
        causes=tuple(replace(cause, text=HOSTILE, evidence=evidence) for cause in first.causes),
        not_causes=tuple(replace(cause, text=HOSTILE, evidence=evidence) for cause in first.not_causes),
        sources=tuple(replace(source, cidr=HOSTILE, text=HOSTILE) for source in first.sources),
        timeline=tuple(replace(entry, source=HOSTILE, text=HOSTILE) for entry in first.timeline),
        mitigation=tuple(replace(action, text=HOSTILE, evidence=evidence) for action in first.mitigation),
    )
    diagnosis = replace(
        told.diagnosis,
        inputs=tuple(
            replace(found, path=HOSTILE, kind=HOSTILE, format=HOSTILE) for found in told.diagnosis.inputs
        ),
        quality=tuple(
            replace(check, check=HOSTILE, text=HOSTILE, limits=HOSTILE) for check in told.diagnosis.quality
        ),
        incidents=(first, replace(candidate, service=HOSTILE, reason=HOSTILE)),
    )
    return Told(diagnosis, {name: _strings_replaced(frame) for name, frame in told.rows.items()})


def _strings_replaced(frame: pl.DataFrame) -> pl.DataFrame:
    columns = [name for name, kind in frame.schema.items() if kind == pl.String and name != "incident_id"]
    return frame.with_columns(pl.lit(HOSTILE).alias(name) for name in columns)
