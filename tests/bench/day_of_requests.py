"""What the diagnosis of a day of a million requests costs: `postmortem`, beside `ingest` that only reads.

python tests/bench/day_of_requests.py [REQUESTS]

The inputs are made up: an access log, a span of the engine a request, and metrics of engines and GPUs every
15 seconds. An hour of the day is slow, since long prompts come from one range of addresses.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
from measure import Cost, measure, table

REQUESTS = 1_000_000
RUNS = 3
REPLICAS = 4
DAY_S = 86_400
BEGIN_S = 1_777_000_000 // DAY_S * DAY_S
SLOW_S = (50_000, 53_600)
SPANS_A_LINE = 50
_LOG_FORMAT = (
    'log_format gateway \'$msec $request_id $remote_addr "$request" $status $request_time $upstream_addr '
    '$body_bytes_sent "$http_user_agent"\';\n'
)
_SPAN = (
    '{{"traceId":"{}","spanId":"{}","name":"llm_request","kind":2,"startTimeUnixNano":"{}000",'
    '"endTimeUnixNano":"{}000","attributes":['
    '{{"key":"gen_ai.request.id","value":{{"stringValue":"chatcmpl-{}"}}}},'
    '{{"key":"gen_ai.request.model","value":{{"stringValue":"made/up-70b"}}}},'
    '{{"key":"gen_ai.usage.prompt_tokens","value":{{"intValue":"{}"}}}},'
    '{{"key":"gen_ai.usage.cached_tokens","value":{{"intValue":"{}"}}}},'
    '{{"key":"gen_ai.usage.completion_tokens","value":{{"intValue":"{}"}}}},'
    '{{"key":"gen_ai.latency.time_in_queue","value":{{"doubleValue":{}}}}},'
    '{{"key":"gen_ai.latency.time_to_first_token","value":{{"doubleValue":{}}}}},'
    '{{"key":"gen_ai.latency.e2e","value":{{"doubleValue":{}}}}}]}}'
)
_RESOURCE = (
    '{{"resourceSpans":[{{"resource":{{"attributes":['
    '{{"key":"service.name","value":{{"stringValue":"engine"}}}},'
    '{{"key":"host.name","value":{{"stringValue":"node-{}"}}}},'
    '{{"key":"k8s.pod.name","value":{{"stringValue":"engine-{}"}}}}]}},'
    '"scopeSpans":[{{"scope":{{"name":"vllm.llm_engine"}},"spans":[{}]}}]}}]}}'
)
_SCRAPES_S = range(BEGIN_S, BEGIN_S + DAY_S, 15)
_ENGINE = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")
_COUNTED = {
    "vllm:prefix_cache_queries_total": "prompt",
    "vllm:prefix_cache_hits_total": "cached",
    "vllm:prompt_tokens_total": "prompt",
    "vllm:generation_tokens_total": "output",
}
_GPU = (
    "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_MEM_COPY_UTIL",
    "DCGM_FI_DEV_FB_USED",
)


def write(folder: Path, requests: int) -> None:
    """A day of so many requests, and of metrics."""
    made = _requests(requests)
    (folder / "log_format.conf").write_text(_LOG_FORMAT, encoding="utf-8")
    line = pl.format(
        '{} {} {} "POST /v1/chat/completions HTTP/1.1" 200 {} 10.9.0.{}:8000 {} "client/{}"',
        pl.col("finished_us") / 1e6,
        "id",
        "client",
        "total_s",
        "replica",
        pl.col("output") * 5,
        pl.col("prompt") % 7,
    )
    made.select(line.alias("line")).write_csv(
        folder / "access.log", include_header=False, quote_style="never"
    )
    span = pl.format(
        _SPAN, "id", pl.col("id").str.slice(16), "started_us", "finished_us", "id", "prompt", "cached",
        "output", "queue_s", "ttft_s", "total_s",
    )  # fmt: skip
    (
        made.select("replica", span.alias("span"), row=pl.int_range(pl.len()).over("replica") // SPANS_A_LINE)
        .group_by("row", "replica", maintain_order=True)
        .agg(pl.col("span").str.join(","))
        .select(pl.format(_RESOURCE, "replica", "replica", "span"))
        .write_csv(folder / "spans.jsonl", include_header=False, quote_style="never")
    )
    drawn = np.random.default_rng(6)
    engine = {name: drawn.random((REPLICAS, len(_SCRAPES_S))).round(3) for name in _ENGINE}
    engine |= {name: _counted(made, tokens) for name, tokens in _COUNTED.items()}
    _metrics(folder / "engine.prom", engine, 'pod="engine-{}",model_name="m"')
    gpu = {name: drawn.random((REPLICAS, len(_SCRAPES_S))).round(3) for name in _GPU}
    _metrics(folder / "gpu.prom", gpu, 'gpu="0",Hostname="node-{}"')


def _requests(count: int) -> pl.DataFrame:
    """One row a request, in order of arrival: busier by day, slower where the long prompts come."""
    draw = np.random.default_rng(5)
    hours = 1 - 0.6 * np.cos(2 * np.pi * (np.arange(1440) + 0.5) / 1440)
    at_s = np.sort(draw.choice(1440, count, p=hours / hours.sum()) * 60 + draw.random(count) * 60)
    is_slow = (at_s >= SLOW_S[0]) & (at_s < SLOW_S[1])
    is_long = is_slow & (draw.random(count) < 0.08)
    prompt = np.where(is_long, 60_000, draw.lognormal(6.5, 0.8, count)).astype(np.int64)
    output = draw.geometric(1 / 120, count)
    queue_s = draw.exponential(0.02 + 2.0 * is_slow)
    ttft_s = queue_s + 0.05 + prompt / 20_000
    total_s = ttft_s + output * 0.02
    network = np.where(
        is_long, "203.0.113.", np.array(["198.51.100.", "192.0.2."])[draw.integers(0, 2, count)]
    )
    return pl.DataFrame(
        {
            "id": [f"{number:032x}" for number in range((1 << 70) + 1, (1 << 70) + 1 + count)],
            "replica": draw.integers(0, REPLICAS, count),
            "started_us": (BEGIN_S * 1e6 + at_s * 1e6).astype(np.int64),
            "prompt": prompt,
            "cached": prompt // 3,
            "output": output,
            "queue_s": queue_s.round(4),
            "ttft_s": ttft_s.round(4),
            "total_s": total_s.round(4),
        }
    ).with_columns(
        finished_us=pl.col("started_us") + (pl.col("total_s") * 1e6).cast(pl.Int64),
        client=pl.Series(network) + pl.Series(draw.integers(1, 255, count)).cast(pl.String),
    )


def _counted(made: pl.DataFrame, tokens: str) -> np.ndarray:
    """Tokens of the requests done at each scrape, shape (replicas, scrapes)."""
    at_us = np.array(_SCRAPES_S) * 1_000_000
    counted = []
    for replica in range(REPLICAS):
        own = made.filter(replica=replica).sort("finished_us")
        grown = np.append(0, own[tokens].cum_sum().to_numpy())
        counted.append(grown[np.searchsorted(own["finished_us"].to_numpy(), at_us)])
    return np.array(counted)


def _metrics(path: Path, values: Mapping[str, np.ndarray], labels: str) -> None:
    """Scrapes of a day of each name at each replica; values have shape (replicas, scrapes)."""
    with path.open("w", encoding="utf-8") as file:
        for scrape, at_s in enumerate(_SCRAPES_S):
            for name, of_replicas in values.items():
                for replica, value in enumerate(of_replicas[:, scrape].tolist()):
                    file.write(f"{name}{{{labels.format(replica)}}} {value} {at_s}000\n")


def costs(folder: Path, requests: int, runs: int) -> list[Cost]:
    """The cost of ingesting a day, and of a postmortem of it, which reads as well: the rest is diagnosis."""
    inputs, out = folder / "in", folder / "out"
    inputs.mkdir()
    out.mkdir()
    write(inputs, requests)
    command = [sys.executable, "-m", "tracemortem"]
    ingest = [*command, "ingest", inputs, "--db", out / "day.duckdb", "--quiet"]
    diagnose = [*command, "postmortem", inputs, "--out", out, "--quiet"]
    return [measure("ingest", ingest, runs=1), measure("postmortem", diagnose, runs)]


def main(requests: int) -> None:
    """Print a row for ingesting and one for the postmortem."""
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(table(costs(Path(folder), requests, RUNS)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS)
