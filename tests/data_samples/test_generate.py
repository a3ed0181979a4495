"""The sample night is what its README says: read here by plain Python, with nothing of the product."""

import gzip
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from itertools import pairwise
from pathlib import Path
from statistics import mean, median

import pytest

BATCH_AT = datetime(2023, 11, 15, 2, 17, tzinfo=UTC).timestamp()
MITIGATED_AT = datetime(2023, 11, 15, 2, 46, 40, tzinfo=UTC).timestamp()
ENDS_AT = datetime(2023, 11, 15, 3, 30, tzinfo=UTC).timestamp()
BEFORE = (BATCH_AT - 57 * 60, BATCH_AT)
DURING = (BATCH_AT, MITIGATED_AT)
AFTER = (MITIGATED_AT + 7 * 60, ENDS_AT)
AUDIT = [ip_network(one) for one in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
DIAGNOSTICS = "deepseek_diagnostics."
SAMPLE = re.compile(r"([\w:]+)\{(.*)\} (\S+) (\d+)")
LINE = re.compile(
    r'(?P<ended>[\d.]+) (?P<id>[0-9a-f]{32}) (?P<peer>\S+) "(?P<forwarded>[^"]*)" \S+ "(?P<request>[^"]*)" '
    r"(?P<status>\d{3}) (?P<lasted>[\d.]+) (?P<header>\S+) \S+ (?P<upstream>\S+) \d+ \"[^\"]*\""
)


@dataclass
class Request:
    """One request as its spans tell it; tokens are None where the gateway answered by itself."""

    at: float
    lasted_s: float
    status: int
    client: str
    prompt_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass
class Night:
    """What a recording holds. Series are {key: [(Unix seconds, value)]}."""

    requests: dict[str, Request] = field(default_factory=dict)
    ledger: list[Request] = field(default_factory=list)
    span_statuses: set[str] = field(default_factory=set)
    lines: list[dict[str, str]] = field(default_factory=list)
    gauges: dict[tuple[str, str], list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    scraped: dict[str, dict[str, list[tuple[float, float]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )


def text(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from lines


def attributes(of: dict) -> dict[str, str]:
    return {one["key"]: next(iter(one["value"].values())) for one in of["attributes"]}


def read_spans(folder: Path, night: Night) -> None:
    for line in text(folder / "otel/spans.jsonl.gz"):
        for part in json.loads(line)["resourceSpans"]:
            service = attributes(part["resource"])["service.name"]
            for span in part["scopeSpans"][0]["spans"]:
                said = attributes(span)
                night.span_statuses.add(json.dumps(span["status"]))
                if service == "counsel-llm":
                    request = night.requests[span["traceId"]]
                    request.prompt_tokens = int(said["gen_ai.usage.prompt_tokens"])
                    request.cached_tokens = int(said["gen_ai.usage.cached_tokens"])
                    continue
                started_ns, ended_ns = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
                request = Request(
                    started_ns / 1e9,
                    (ended_ns - started_ns) / 1e9,
                    int(said["http.response.status_code"]),
                    said["client.address"],
                )
                if service == "counsel-gateway":
                    night.requests[span["traceId"]] = request
                else:
                    night.ledger.append(request)


def read_night(folder: Path) -> Night:
    night = Night()
    read_spans(folder, night)
    for line in text(folder / "nginx/access.log.gz"):
        found = LINE.fullmatch(line.rstrip("\n"))
        assert found is not None, line
        night.lines.append(found.groupdict())
    for line in text(folder / "diagnostics/engine.jsonl.gz"):
        part = json.loads(line)["resourceMetrics"][0]
        pod = attributes(part["resource"])["k8s.pod.name"]
        for metric in part["scopeMetrics"][0]["metrics"]:
            point = metric.get("gauge", metric.get("sum"))["dataPoints"][0]
            value = float(point.get("asDouble", point.get("asInt")))
            night.gauges[pod, metric["name"]].append((int(point["timeUnixNano"]) / 1e9, value))
    for name in ("dcgm/gpu.prom.gz", "vllm/metrics.prom.gz", "host/node.prom.gz"):
        for line in text(folder / name):
            if found := SAMPLE.match(line):
                series, labels, value, at_ms = found.groups()
                night.scraped[series][labels].append((int(at_ms) / 1000, float(value)))
    return night


@pytest.fixture(scope="module")
def samples(repo_root: Path) -> Path:
    return repo_root / "data_samples"


@pytest.fixture(scope="module")
def night(samples: Path) -> Night:
    return read_night(samples / "seed_night")


def p99(values: list[float]) -> float:
    """quantile_cont, as the contract has it."""
    ordered = sorted(values)
    place = 0.99 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def within(points: list[tuple[float, float]], window: tuple[float, float]) -> list[float]:
    return [value for at, value in points if window[0] <= at < window[1]]


def arrived(night: Night, window: tuple[float, float]) -> list[Request]:
    return [one for one in night.requests.values() if window[0] <= one.at < window[1]]


def latency_p99(requests: list[Request]) -> float:
    return p99([one.lasted_s for one in requests if not 400 <= one.status < 499])


def is_long(request: Request) -> bool:
    return request.prompt_tokens is not None and request.prompt_tokens > 4096


def is_audit(request: Request) -> bool:
    return any(ip_address(request.client) in network for network in AUDIT)


def long_share(requests: list[Request]) -> float:
    return mean(is_long(one) for one in requests if one.prompt_tokens is not None)


def gauge(night: Night, name: str, window: tuple[float, float]) -> float:
    """Median over replicas and scrapes."""
    return median(
        value
        for (_, metric), points in night.gauges.items()
        if metric == DIAGNOSTICS + name
        for value in within(points, window)
    )


def decode_ratio(night: Night, window: tuple[float, float]) -> float:
    """Median over replicas and scrapes of P99 over P50."""
    ratios = []
    for (pod, metric), points in night.gauges.items():
        if metric == DIAGNOSTICS + "decode_latency.p50":
            slow = dict(night.gauges[pod, DIAGNOSTICS + "decode_latency.p99"])
            ratios += [slow[at] / value for at, value in points if window[0] <= at < window[1]]
    return median(ratios)


def scraped_mean(night: Night, name: str, window: tuple[float, float]) -> float:
    return mean(value for points in night.scraped[name].values() for value in within(points, window))


def rise(points: list[tuple[float, float]], window: tuple[float, float]) -> float:
    values = within(points, window)
    return values[-1] - values[0]


def evictions_per_minute(night: Night, window: tuple[float, float]) -> list[float]:
    """One figure a replica."""
    minutes = (window[1] - window[0]) / 60
    return [
        rise(points, window) / minutes
        for (_, metric), points in night.gauges.items()
        if metric == DIAGNOSTICS + "kv_cache.eviction_count"
    ]


def hit_ratio(night: Night, window: tuple[float, float]) -> float:
    hits, queries = (
        sum(rise(points, window) for points in night.scraped[f"vllm:prefix_cache_{what}_total"].values())
        for what in ("hits", "queries")
    )
    return hits / queries


def test_p99_triples_with_the_batch_and_comes_back_after_the_rule(night: Night):
    found = [latency_p99(arrived(night, window)) for window in (BEFORE, DURING, AFTER)]
    assert found == pytest.approx([1.2, 3.8, 1.4], rel=0.15)


def test_short_questions_of_other_clients_are_slowed_too(night: Night):
    before, during = (
        latency_p99([one for one in arrived(night, window) if not is_long(one) and not is_audit(one)])
        for window in (BEFORE, DURING)
    )
    assert during > 2.5 * before


def test_the_share_of_long_prompts_rises_from_5_to_38_percent(night: Night):
    found = [long_share(arrived(night, window)) for window in (BEFORE, DURING)]
    assert found == pytest.approx([0.05, 0.38], rel=0.15)


def test_long_prompts_of_the_incident_have_the_planted_lengths(night: Night):
    lengths = [one.prompt_tokens or 0 for one in arrived(night, DURING) if is_long(one)]
    assert (mean(lengths), max(lengths)) == (pytest.approx(8_742, rel=0.05), pytest.approx(32_516, rel=0.005))


def test_nine_in_ten_long_prompts_of_the_incident_come_from_the_three_ranges(night: Night):
    assert mean(is_audit(one) for one in arrived(night, DURING) if is_long(one)) > 0.9


def test_the_three_ranges_asked_as_everybody_did_before(night: Night):
    asked = [one for one in arrived(night, BEFORE) if is_audit(one)]
    assert (len(asked) > 1_000, long_share(asked)) == (True, pytest.approx(0.05, abs=0.02))


def test_requests_a_second_hardly_rise(night: Night):
    before, during = (len(arrived(night, window)) / (window[1] - window[0]) for window in (BEFORE, DURING))
    assert during / before < 1.4


def test_prefix_hits_fall_from_91_to_62_percent_and_recover(night: Night):
    found = [hit_ratio(night, window) for window in (BEFORE, DURING)]
    assert found == pytest.approx([0.91, 0.62], rel=0.1)
    assert hit_ratio(night, AFTER) > 0.84


def test_memory_saturates_while_utilisation_looks_as_usual(night: Night):
    memory, utilisation = (
        [scraped_mean(night, name, window) * factor for window in (BEFORE, DURING)]
        for name, factor in (("DCGM_FI_PROF_DRAM_ACTIVE", 1), ("DCGM_FI_DEV_GPU_UTIL", 0.01))
    )
    assert memory == pytest.approx([0.60, 0.85], rel=0.15)
    assert utilisation == pytest.approx([0.65, 0.65], rel=0.15)


def test_utilisation_ends_a_bit_higher_than_it_began(night: Night):
    before, after = (scraped_mean(night, "DCGM_FI_DEV_GPU_UTIL", window) for window in (BEFORE, AFTER))
    assert before < after < 78


def test_the_framebuffer_is_a_sawtooth_between_65_and_78_percent(night: Night):
    used = [value / 81_920 for points in night.scraped["DCGM_FI_DEV_FB_USED"].values() for _, value in points]
    assert (min(used), max(used)) == (pytest.approx(0.65, abs=0.01), pytest.approx(0.78, abs=0.01))


def test_decoding_spreads(night: Night):
    assert decode_ratio(night, BEFORE) < 1.8
    assert decode_ratio(night, DURING) > 2.5
    found = [gauge(night, f"decode_latency.{quantile}", DURING) for quantile in ("p50", "p99")]
    assert found == pytest.approx([23, 67], rel=0.15)


def test_every_replica_evicts(night: Night):
    assert max(evictions_per_minute(night, BEFORE)) < 20
    assert min(evictions_per_minute(night, DURING)) > 100


def test_the_block_manager_makes_the_scheduler_wait(night: Night):
    assert gauge(night, "scheduler.block_wait_p99", BEFORE) < 5
    assert gauge(night, "scheduler.block_wait_p99", DURING) == pytest.approx(17, rel=0.15)


def test_free_space_is_fragmented(night: Night):
    fragmentation = [
        mean(
            value
            for (_, metric), points in night.gauges.items()
            if metric == DIAGNOSTICS + "kv_cache.fragmentation"
            for value in within(points, window)
        )
        for window in (BEFORE, DURING)
    ]
    assert fragmentation == pytest.approx([0.005, 0.30], abs=0.05)


def test_prefill_loses_a_fifth_of_its_throughput(night: Night):
    before, during = (gauge(night, "prefill_throughput", window) for window in (BEFORE, DURING))
    assert during / before - 1 == pytest.approx(-0.18, rel=0.15)


def test_attention_takes_more_than_twice_as_long(night: Night):
    before, during = (gauge(night, "attention.compute_time_p99", window) for window in (BEFORE, DURING))
    assert during / before == pytest.approx(2.3, rel=0.15)


def test_the_other_service_on_the_nodes_feels_nothing(night: Night):
    before, during = (
        p99([one.lasted_s for one in night.ledger if window[0] <= one.at < window[1]])
        for window in (BEFORE, DURING)
    )
    assert during == pytest.approx(before, rel=0.15)


def test_no_span_reports_an_error(night: Night):
    assert night.span_statuses == {"{}"}


def test_only_the_batch_is_ever_refused_with_429_and_only_after_the_rule(night: Night):
    refused = [one for one in night.requests.values() if one.status == 429]
    assert (
        len(refused) > 50,
        all(map(is_audit, refused)),
        min(one.at for one in refused) >= MITIGATED_AT,
    ) == ((True,) * 3)


def test_before_the_rule_all_but_a_few_requests_in_a_thousand_succeed(night: Night):
    asked = [one for one in night.requests.values() if one.at < MITIGATED_AT]
    assert {one.status for one in asked} == {200, 400}
    assert mean(one.status == 400 for one in asked) == pytest.approx(0.002, abs=0.001)


def test_the_gpus_are_healthy_but_for_one_stale_error_code(night: Night):
    def all_values(name: str) -> set[float]:
        return {value for points in night.scraped[name].values() for _, value in points}

    codes = [{value for _, value in points} for points in night.scraped["DCGM_FI_DEV_XID_ERRORS"].values()]
    assert codes == [{0}, {31}, {0}]
    for name in ("ECC_SBE_VOL_TOTAL", "ECC_DBE_VOL_TOTAL", "CLOCK_THROTTLE_REASONS"):
        assert all_values(f"DCGM_FI_DEV_{name}") == {0}
    assert all_values("DCGM_FI_DEV_SM_CLOCK") == {1410}
    assert max(all_values("DCGM_FI_DEV_GPU_TEMP")) < 82


def test_the_network_loses_its_usual_three_segments_in_ten_thousand(night: Night):
    for window in (BEFORE, DURING):
        again, sent = (
            sum(rise(points, window) for points in night.scraped[f"node_netstat_Tcp_{what}Segs"].values())
            for what in ("Retrans", "Out")
        )
        assert again / sent == pytest.approx(3e-4, rel=0.05)


def test_no_counter_ever_falls(night: Night):
    counters = [
        points
        for name, by_labels in night.scraped.items()
        if name.endswith(("_total", "_count", "_sum", "_bucket", "Segs", "CONSUMPTION"))
        for points in by_labels.values()
    ]
    assert len(counters) > 100
    assert all(earlier <= later for points in counters for (_, earlier), (_, later) in pairwise(points))


def test_the_access_log_and_the_spans_tell_the_same(night: Night):
    logged = {
        line["id"]: (float(line["ended"]), float(line["lasted"]), int(line["status"]))
        for line in night.lines
        if line["request"] != "GET /healthz HTTP/1.1"
    }
    spans = {
        trace: (round(one.at + one.lasted_s, 3), round(one.lasted_s, 3), one.status)
        for trace, one in night.requests.items()
    }
    assert logged == spans


def test_the_access_log_is_in_order_of_the_end(night: Night):
    ended = [float(line["ended"]) for line in night.lines]
    assert ended == sorted(ended)


def test_some_direct_clients_claim_to_be_forwarded(night: Night):
    claims = [
        line["forwarded"]
        for line in night.lines
        if line["forwarded"] != "-" and not line["peer"].startswith("10.20.0.")
    ]
    assert 0 < len(claims) < 0.02 * len(night.lines)
    assert "198.51.100.99" in claims


def test_the_last_forwarded_address_behind_a_load_balancer_is_the_client(night: Night):
    behind = [
        line for line in night.lines if line["peer"].startswith("10.20.0.") and line["forwarded"] != "-"
    ]
    assert len(behind) > 0.5 * len(night.lines)
    assert all(night.requests[line["id"]].client == line["forwarded"].split(", ")[-1] for line in behind)


def figures(night: Night) -> list[tuple[str, list[str]]]:
    """The rows of the README's table."""

    def row(name: str, form: str, figure: Callable[[tuple[float, float]], float]) -> tuple[str, list[str]]:
        return name, [form.format(figure(window)) for window in (BEFORE, DURING, AFTER)]

    return [
        row("requests a second", "{:.2f}", lambda w: len(arrived(night, w)) / (w[1] - w[0])),
        row("P99 of the gateway's total time", "{:.2f} s", lambda w: latency_p99(arrived(night, w))),
        row(
            "the same, short prompts outside the three ranges",
            "{:.2f} s",
            lambda w: latency_p99([o for o in arrived(night, w) if not is_long(o) and not is_audit(o)]),
        ),
        row("share of prompts over 4096 tokens", "{:.3f}", lambda w: long_share(arrived(night, w))),
        row(
            "their mean length, tokens",
            "{:.0f}",
            lambda w: mean(one.prompt_tokens or 0 for one in arrived(night, w) if is_long(one)),
        ),
        row("prefix hits, share of tokens", "{:.3f}", lambda w: hit_ratio(night, w)),
        row("DRAM active", "{:.3f}", lambda w: scraped_mean(night, "DCGM_FI_PROF_DRAM_ACTIVE", w)),
        row("GPU utilisation", "{:.1f} %", lambda w: scraped_mean(night, "DCGM_FI_DEV_GPU_UTIL", w)),
        row("decoding P50", "{:.1f} ms", lambda w: gauge(night, "decode_latency.p50", w)),
        row("decoding P99", "{:.1f} ms", lambda w: gauge(night, "decode_latency.p99", w)),
        row("decoding P99 / P50", "{:.2f}", lambda w: decode_ratio(night, w)),
        row("attention P99", "{:.1f} ms", lambda w: gauge(night, "attention.compute_time_p99", w)),
        row("prefill throughput, tokens/s", "{:.0f}", lambda w: gauge(night, "prefill_throughput", w)),
        row("block wait P99", "{:.1f} ms", lambda w: gauge(night, "scheduler.block_wait_p99", w)),
        row("fragmentation, median", "{:.3f}", lambda w: gauge(night, "kv_cache.fragmentation", w)),
        row("evictions a minute and replica", "{:.1f}", lambda w: mean(evictions_per_minute(night, w))),
    ]


def test_the_readme_gives_the_figures_that_the_files_hold(night: Night, samples: Path):
    readme = (samples / "README.md").read_text(encoding="utf-8")
    rows = [f"| {name} | {' | '.join(values)} |" for name, values in figures(night)]
    assert [row for row in rows if row not in readme] == []


def generate(samples: Path, out: Path, *options: str) -> dict[str, bytes]:
    """Run the generator; what it wrote, decompressed: which zlib packed it does not matter."""
    command = [sys.executable, str(samples / "generate.py"), "--out", str(out), *options]
    subprocess.run(command, check=True, timeout=600)
    return contents(out)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): gzip.decompress(path.read_bytes())
        if path.suffix == ".gz"
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_generating_again_gives_the_committed_files(samples: Path, tmp_path: Path):
    again = generate(samples, tmp_path)
    committed = contents(samples / "seed_night")
    assert [name for name in again.keys() | committed.keys() if again.get(name) != committed.get(name)] == []


def test_a_gzip_file_holds_neither_name_nor_time(samples: Path):
    headers = {path.read_bytes()[3:8] for path in (samples / "seed_night").rglob("*.gz")}
    assert headers == {bytes(5)}


def test_the_same_arguments_give_the_same_files_and_another_seed_others(samples: Path, tmp_path: Path):
    first, second, other = (
        generate(samples, tmp_path / name, "--scale", "0.3", "--hours", "0.05", "--seed", seed)
        for name, seed in (("first", "1"), ("second", "1"), ("other", "2"))
    )
    assert first == second
    assert first["otel/spans.jsonl.gz"] != other["otel/spans.jsonl.gz"]


def test_a_quiet_night_has_no_batch_and_no_rule(samples: Path, tmp_path: Path):
    quiet = generate(samples, tmp_path, "--quiet-only", "--scale", "0.3", "--hours", "0.2")
    assert b"clause-audit" not in quiet["nginx/access.log.gz"]
    assert {json.loads(line)["kind"] for line in quiet["events.jsonl"].splitlines()} == {
        "deploy",
        "config",
        "note",
    }


def test_scale_multiplies_replicas_and_requests(samples: Path, tmp_path: Path):
    one, four = (
        generate(samples, tmp_path / scale, "--scale", scale, "--hours", "0.1", "--quiet-only")
        for scale in "14"
    )
    pods = [set(re.findall(rb"counsel-llm-\d+", files["vllm/metrics.prom.gz"])) for files in (one, four)]
    lines = [files["nginx/access.log.gz"].count(b"/v1/chat/completions") for files in (one, four)]
    assert [len(found) for found in pods] == [3, 12]
    assert lines[1] / lines[0] == pytest.approx(4, rel=0.15)
