"""Days of a made-up service: a gateway's log, its engines' spans and metrics, one file of each a day.

Traffic follows the hour and the day of the week. Latency is drawn, not simulated: what matters here is which
day shows what, not why engines are slow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

FIRST = date(2026, 3, 2)  # a Monday
SENDERS = 40
REPLICAS = 4
_MINUTE_S = 60
_DAY_S = 86_400


@dataclass(frozen=True)
class Trouble:
    """From a minute of a day on, for so many minutes.

    kind   long: two senders send long prompts, and everybody waits; surge: three times the requests, and all
           wait in the queue; slow: every answer takes three times as long
    """

    kind: str
    day: int
    minute: int
    minutes: int


@dataclass(frozen=True)
class Plan:
    """What happens on which day, counted from FIRST.

    requests    of a working day
    silent      day -> replica whose metrics and spans are missing
    kong_until  from this day on the gateway writes another format
    """

    requests: int
    troubles: tuple[Trouble, ...] = ()
    silent: Mapping[int, int] = field(default_factory=dict)
    kong_until: int = 10_000
    deploys: tuple[int, ...] = ()


def write_day(plan: Plan, day: int, folder: Path) -> None:
    """The files of one day, counted from FIRST, into the folder."""
    rng = np.random.default_rng([plan.requests, day])
    frame = _requests(plan, day, rng)
    name = (FIRST + timedelta(days=day)).isoformat()
    for sub in ("gateway", "spans", "metrics"):
        (folder / sub).mkdir(parents=True, exist_ok=True)
    log = _kong(frame) if day < plan.kong_until else _nginx(frame)
    (folder / "gateway" / f"access-{name}.log").write_text(log, encoding="utf-8")
    told = frame.filter(pl.col("replica") != plan.silent.get(day, -1))
    (folder / "spans" / f"spans-{name}.jsonl").write_text(_spans(told), encoding="utf-8")
    (folder / "metrics" / f"engines-{name}.prom").write_text(_metrics(plan, day, frame), encoding="utf-8")
    if day in plan.deploys:
        at = _midnight(day) + timedelta(hours=9)
        line = f'{{"time": "{at:%FT%TZ}", "kind": "deploy", "text": "chat 1.{day}"}}\n'
        (folder / f"events-{name}.jsonl").write_text(line, encoding="utf-8")


def _midnight(day: int) -> datetime:
    return datetime.combine(FIRST + timedelta(days=day), time(), UTC)


def _requests(plan: Plan, day: int, rng: np.random.Generator) -> pl.DataFrame:
    weekend = 0.55 if (FIRST + timedelta(days=day)).isoweekday() >= 6 else 1.0
    minutes = np.arange(1440)
    season = 1 + 0.6 * np.sin((minutes - 480) / 1440 * 2 * np.pi)
    rate = season / season.sum() * plan.requests * weekend * rng.normal(1, 0.03)
    felt = {kind: _felt(plan, day, kind) for kind in ("long", "surge", "slow")}
    rate = rate * np.where(felt["surge"], 3, 1)
    counts = rng.poisson(rate)
    at = np.sort(np.repeat(minutes * _MINUTE_S, counts) + rng.uniform(0, _MINUTE_S, counts.sum()))
    minute = (at // _MINUTE_S).astype(int)
    size = at.size
    is_long = rng.uniform(size=size) < np.where(felt["long"][minute], 0.38, 0.04)
    prompt = np.where(
        is_long, rng.integers(9_000, 16_000, size), rng.lognormal(6.3, 0.5, size).astype(int) + 20
    )
    output = rng.lognormal(4.8, 0.4, size).astype(int) + 5
    queue = rng.exponential(0.02, size)
    queue = np.where(felt["long"][minute], queue + rng.gamma(3, 0.5, size), queue)
    queue = np.where(felt["surge"][minute], queue + rng.gamma(3, 0.4, size), queue)
    slow = np.where(felt["slow"][minute], 3.0, 1.0)
    prefill, decode = prompt * 9e-5 * slow, output * 0.006 * rng.lognormal(0, 0.1, size) * slow
    hit = np.where(felt["long"][minute], 0.45, 0.85)
    cached = (prompt * np.where(is_long, 0.05, hit * rng.uniform(0.9, 1.1, size)).clip(0, 0.95)).astype(int)
    sender = rng.integers(0, SENDERS, size)
    sender = np.where(is_long & felt["long"][minute], SENDERS + rng.integers(0, 2, size), sender)
    return pl.DataFrame(
        {
            "number": np.arange(size) + day * 10_000_000,
            "at": _midnight(day).timestamp() + at,
            "queue": queue,
            "prefill": prefill,
            "decode": decode,
            "took": queue + prefill + decode + 0.01,
            "prompt": prompt,
            "output": output,
            "cached": cached,
            "sender": sender,
            "replica": rng.integers(0, REPLICAS, size),
        }
    ).with_columns(
        id=pl.format("r{}", "number"),
        client=pl.when(pl.col("sender") < SENDERS)
        .then(pl.format("198.51.{}.{}", pl.col("sender"), pl.col("number") % 200 + 1))
        .otherwise(pl.format("203.0.{}.{}", pl.col("sender"), pl.col("number") % 200 + 1)),
    )


def _felt(plan: Plan, day: int, kind: str) -> NDArray[np.bool_]:
    """By minute of the day; a trouble may have begun the day before."""
    felt = np.zeros(1440, dtype=bool)
    for one in plan.troubles:
        if one.kind == kind:
            first = one.minute - 1440 * (day - one.day)
            felt[max(first, 0) : max(first + one.minutes, 0)] = True
    return felt


def _lines(frame: pl.DataFrame, *fields: pl.Expr) -> str:
    return "\n".join(frame.select(pl.struct(*fields).struct.json_encode()).to_series()) + "\n"


def _kong(frame: pl.DataFrame) -> str:
    took_ms = (pl.col("took") * 1000).cast(pl.Int64)
    return _lines(
        frame,
        (pl.col("at") * 1000).cast(pl.Int64).alias("started_at"),
        pl.col("client").alias("client_ip"),
        pl.struct("id", method=pl.lit("POST"), uri=pl.lit("/v1/chat/completions"), size=pl.lit("900")).alias(
            "request"
        ),
        pl.struct(status=pl.lit(200), size=pl.lit("900")).alias("response"),
        pl.struct(took_ms.alias("request"), pl.lit(1).alias("kong"), took_ms.alias("proxy")).alias(
            "latencies"
        ),
    )


def _nginx(frame: pl.DataFrame) -> str:
    return _lines(
        frame.sort(pl.col("at") + pl.col("took")),
        (pl.col("at") + pl.col("took")).round(3).alias("msec"),
        pl.col("client").alias("remote_addr"),
        pl.lit("POST /v1/chat/completions HTTP/1.1").alias("request"),
        pl.lit(200).alias("status"),
        pl.lit(900).alias("body_bytes_sent"),
        pl.col("took").round(3).alias("request_time"),
        pl.col("id").alias("request_id"),
    )


def _spans(frame: pl.DataFrame) -> str:
    """One export a span: the engine's, which knows the request by its id."""
    columns = ("number", "at", "queue", "prefill", "decode", "prompt", "output", "cached", "replica")
    lines = []
    for number, at, queue, prefill, decode, prompt, output, cached, replica in frame.select(columns).rows():
        begun, ended = round((at + 0.005) * 1e6), round((at + 0.005 + queue + prefill + decode) * 1e6)
        said = ",".join(
            [
                _text("gen_ai.request.id", f"r{number}"),
                *(
                    f'{{"key":"gen_ai.usage.{key}","value":{{"intValue":"{value}"}}}}'
                    for key, value in (
                        ("prompt_tokens", prompt), ("completion_tokens", output), ("cached_tokens", cached)
                    )
                ),
                *(
                    f'{{"key":"gen_ai.latency.{key}","value":{{"doubleValue":{value:.6f}}}}}'
                    for key, value in (
                        ("time_in_queue", queue),
                        ("time_to_first_token", queue + prefill),
                        ("e2e", queue + prefill + decode),
                    )
                ),
            ]
        )  # fmt: skip
        named = f"{_text('service.name', 'chat')},{_text('k8s.pod.name', f'chat-{replica}')}"
        lines.append(
            f'{{"resourceSpans":[{{"resource":{{"attributes":[{named}]}},'
            f'"scopeSpans":[{{"scope":{{"name":"vllm.llm_engine"}},"spans":[{{"traceId":"{number:032x}",'
            f'"spanId":"{number:016x}","name":"llm_request","kind":2,"startTimeUnixNano":"{begun}000",'
            f'"endTimeUnixNano":"{ended}000","attributes":[{said}],"status":{{}}}}]}}]}}]}}\n'
        )
    return "".join(lines)


def _text(key: str, value: str) -> str:
    return f'{{"key":"{key}","value":{{"stringValue":"{value}"}}}}'


def _metrics(plan: Plan, day: int, frame: pl.DataFrame) -> str:
    """A scrape a minute of every engine that is not silent; its counters begin with the day."""
    by_minute = (
        frame.with_columns(minute=((pl.col("at") - _midnight(day).timestamp()) // _MINUTE_S).cast(pl.Int64))
        .group_by("replica", "minute")
        .agg(pl.col("prompt").sum(), pl.col("cached").sum(), pl.col("queue").sum())
    )
    every = pl.DataFrame({"minute": range(1440)}).join(
        pl.DataFrame({"replica": range(REPLICAS)}), how="cross"
    )
    counted = (
        every.join(by_minute, on=["replica", "minute"], how="left")
        .fill_null(0)
        .sort("minute", "replica")
        .with_columns(pl.col("prompt", "cached").cum_sum().over("replica"))
        .filter(pl.col("replica") != plan.silent.get(day, -1))
    )
    start_ms = round(_midnight(day).timestamp() * 1000)
    lines = []
    for minute, replica, prompt, cached, queue in counted.select(
        "minute", "replica", "prompt", "cached", "queue"
    ).rows():
        labels = f'{{model_name="chat",pod="chat-{replica}"}}'
        at = start_ms + (minute + 1) * _MINUTE_S * 1000 - 1000
        lines.append(f"vllm:prefix_cache_queries_total{labels} {prompt} {at}\n")
        lines.append(f"vllm:prefix_cache_hits_total{labels} {cached} {at}\n")
        lines.append(f"vllm:num_requests_waiting{labels} {round(queue / _MINUTE_S)} {at}\n")
    return "".join(lines)
