"""What Prometheus kept of engines and GPUs, as scrapes one after the other or as an answer of query_range."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, groupby

from simulated.cases import Case
from simulated.counters import BUCKETS_S, Histogram

GIB = 1 << 30


@dataclass(frozen=True)
class Page:
    """One target's samples at one time: (name, type, labels, value). at_ms since 1970."""

    at_ms: int
    samples: list[tuple[str, str, Mapping[str, str], float]]


def engine_samples(case: Case) -> Iterator[Page]:
    """A page an engine and scrape, in the names of the shop's engine."""
    return {"vllm": _vllm, "sglang": _sglang, "tgi": _tgi}[case.shop.metric_names](case)


def _vllm(case: Case) -> Iterator[Page]:
    shop = case.shop
    usage = "vllm:gpu_cache_usage_perc" if shop.dialect == "v0" else "vllm:kv_cache_usage_perc"
    for one in case.fleet.engine_scrapes:
        counters = one.counters
        labels = {
            "engine": "0",
            "model_name": shop.model,
            "instance": f"{one.node.address}:8000",
            "pod": one.node.pod,
        }
        samples: list[tuple[str, str, Mapping[str, str], float]] = [
            ("vllm:num_requests_running", "gauge", labels, one.running),
            ("vllm:num_requests_waiting", "gauge", labels, one.waiting),
            (usage, "gauge", labels, round(one.usage, 6)),
        ]
        for name, value in (
            ("prefix_cache_queries_total", counters.queries),
            ("prefix_cache_hits_total", counters.hits),
            ("num_preemptions_total", counters.preemptions),
            ("prompt_tokens_total", counters.prompt),
            ("generation_tokens_total", counters.generated),
        ):
            samples.append((f"vllm:{name}", "counter", labels, value))
        stopped = {**labels, "finished_reason": "stop"}
        samples.append(("vllm:request_success_total", "counter", stopped, counters.finished))
        if shop.says_config:
            config = {
                **labels, "block_size": "16", "cache_dtype": "auto", "num_gpu_blocks": str(one.room // 16),
                "enable_prefix_caching": str(one.is_caching or one.counts_lookups),
            }  # fmt: skip
            samples.append(("vllm:cache_config_info", "gauge", config, 1))
        for name, histogram in (
            ("time_to_first_token_seconds", counters.ttft),
            ("request_queue_time_seconds", counters.queue),
            ("e2e_request_latency_seconds", counters.whole),
        ):
            samples += _histogram(f"vllm:{name}", labels, histogram)
        yield Page(round((shop.start + one.at) * 1000), samples)


def _sglang(case: Case) -> Iterator[Page]:
    """SGLang counts no look-ups: hits are known beside all prompt tokens only."""
    shop = case.shop
    for one in case.fleet.engine_scrapes:
        counters = one.counters
        labels = {"engine_type": "unified", "model_name": shop.model, "tp_rank": "0", "pod": one.node.pod}
        samples: list[tuple[str, str, Mapping[str, str], float]] = [
            ("sglang:num_running_reqs", "gauge", labels, one.running),
            ("sglang:num_queue_reqs", "gauge", labels, one.waiting),
            ("sglang:token_usage", "gauge", labels, round(one.usage, 6)),
            ("sglang:cached_tokens_total", "counter", labels, counters.hits),
            ("sglang:num_retracted_requests_total", "counter", labels, counters.preemptions),
            ("sglang:prompt_tokens_total", "counter", labels, counters.prompt),
            ("sglang:generation_tokens_total", "counter", labels, counters.generated),
            ("sglang:num_requests_total", "counter", labels, counters.finished),
        ]
        for name, histogram in (
            ("time_to_first_token_seconds", counters.ttft),
            ("queue_time_seconds", counters.queue),
            ("e2e_request_latency_seconds", counters.whole),
        ):
            samples += _histogram(f"sglang:{name}", labels, histogram)
        yield Page(round((shop.start + one.at) * 1000), samples)


def _tgi(case: Case) -> Iterator[Page]:
    """TGI says nothing of its cache, nor of preemptions."""
    shop = case.shop
    for one in case.fleet.engine_scrapes:
        counters = one.counters
        labels = {"instance": f"{one.node.address}:8080", "pod": one.node.pod}
        samples: list[tuple[str, str, Mapping[str, str], float]] = [
            ("tgi_batch_current_size", "gauge", labels, one.running),
            ("tgi_queue_size", "gauge", labels, one.waiting),
            ("tgi_request_success", "counter", labels, counters.finished),
        ]
        for name, histogram in (
            ("request_queue_duration", counters.queue),
            ("request_duration", counters.whole),
        ):
            samples += _histogram(f"tgi_{name}", labels, histogram)
        yield Page(round((shop.start + one.at) * 1000), samples)


def _histogram(
    name: str, labels: Mapping[str, str], histogram: Histogram
) -> Iterator[tuple[str, str, Mapping[str, str], float]]:
    *reached, count = accumulate(histogram.counts)
    for bound, value in zip((*map(str, BUCKETS_S), "+Inf"), (*reached, count), strict=True):
        yield f"{name}_bucket", "histogram", {**labels, "le": bound}, value
    yield f"{name}_sum", "histogram", labels, round(histogram.total, 6)
    yield f"{name}_count", "histogram", labels, count


def gpu_samples(case: Case) -> Iterator[Page]:
    """A page a machine and scrape, as dcgm-exporter names things."""
    shop = case.shop
    for (host, at), scrapes in groupby(case.fleet.gpu_scrapes, key=lambda one: (one.host, one.at)):
        samples: list[tuple[str, str, Mapping[str, str], float]] = []
        for one in scrapes:
            gpu = one.gpu
            labels = {
                "gpu": str(one.number), "UUID": f"GPU-{host}-{one.number}", "device": f"nvidia{one.number}",
                "modelName": "NVIDIA H100 80GB HBM3", "Hostname": host,
            }  # fmt: skip
            power_w = 90 + 420 * one.tensor * gpu.clock_mhz / 1980 + 160 * one.memory
            for name, kind, value in (
                ("DEV_SM_CLOCK", "gauge", gpu.clock_mhz),
                ("DEV_GPU_TEMP", "gauge", round(gpu.temperature_c)),
                ("DEV_MEMORY_TEMP", "gauge", round(gpu.temperature_c + 8)),
                ("DEV_POWER_USAGE", "gauge", round(power_w, 3)),
                ("DEV_GPU_UTIL", "gauge", round(100 * one.busy)),
                ("DEV_XID_ERRORS", "gauge", gpu.xid),
                ("DEV_ECC_DBE_VOL_TOTAL", "counter", gpu.ecc),
                ("DEV_CLOCKS_EVENT_REASONS", "gauge", gpu.throttle),
                ("PROF_DRAM_ACTIVE", "gauge", round(one.memory, 6)),
                ("PROF_PIPE_TENSOR_ACTIVE", "gauge", round(one.tensor, 6)),
            ):
                if shop.has_dram or name != "PROF_DRAM_ACTIVE":
                    samples.append((f"DCGM_FI_{name}", kind, labels, value))
        yield Page(round((shop.start + at) * 1000), samples)


def text_pages(pages: Iterable[Page]) -> Iterator[str]:
    """Prometheus text, one page after the other, each sample with its time."""
    for page in pages:
        family = ""
        for name, kind, labels, value in sorted(page.samples, key=lambda sample: _family(*sample[:2])):
            if family != _family(name, kind):
                family = _family(name, kind)
                yield f"# TYPE {family} {kind}\n"
            said = ",".join(f'{key}="{text}"' for key, text in labels.items())
            yield f"{name}{{{said}}} {float(value)} {page.at_ms}\n"


def _family(name: str, kind: str) -> str:
    return name.rsplit("_", 1)[0] if kind == "histogram" else name


def query_range(pages: Iterable[Page]) -> str:
    """One answer of Prometheus' HTTP API with all series."""
    series: dict[tuple[str, ...], tuple[dict[str, str], list[list[object]]]] = {}
    for page in pages:
        for name, _, labels, value in page.samples:
            said = {"__name__": name, **labels}
            _, values = series.setdefault(tuple(said.values()), (said, []))
            values.append([page.at_ms / 1000, str(value)])
    result = [{"metric": labels, "values": values} for labels, values in series.values()]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
