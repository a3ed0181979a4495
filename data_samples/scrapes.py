"""Prometheus text: each target's page, every 15 s, with the time of the scrape on every line."""

from collections.abc import Iterable
from random import Random
from typing import TextIO

import names
from engine import Replica
from gpus import Gpu
from hardware import BLOCK_TOKENS, POOL_BLOCKS
from plan import unix_ms
from readings import Histogram

Family = tuple[str, str, str, Iterable[tuple[str, str]]]  # name, type, help, [(name and labels, value)]


def write_page(out: TextIO, families: Iterable[Family], at_ms: int) -> None:
    """One page of families, each sample stamped with the time in milliseconds since 1970."""
    for name, kind, about, samples in families:
        out.write(f"# HELP {name} {about}\n# TYPE {name} {kind}\n")
        out.writelines(f"{series} {value} {at_ms}\n" for series, value in samples)


def scraped_at(at: float, target: int) -> int:
    """When a target's page is fetched: targets are spread over the second after the window's end."""
    return unix_ms(at) + 40 + target * 137 % 900


def engine_page(number: int, replica: Replica) -> list[Family]:
    """The engine's /metrics, as vLLM V1 names things."""
    counters = replica.counters
    labels = (
        f'engine="0",model_name="{names.MODEL}",instance="{names.upstream(number)}",'
        f'pod="{names.engine_pod(number)}"'
    )
    running = len(replica.prefilling) + len(replica.decoding)
    usage = replica.pool.pinned_blocks() / POOL_BLOCKS

    def single(name: str, kind: str, about: str, value: float) -> Family:
        return f"vllm:{name}", kind, about, [(f"vllm:{name}{{{labels}}}", f"{value:.6g}")]

    def total(name: str, about: str, value: int) -> Family:
        return f"vllm:{name}", "counter", about, [(f"vllm:{name}{{{labels}}}", f"{value}.0")]

    cache = (
        f'block_size="{BLOCK_TOKENS}",cache_dtype="auto",enable_prefix_caching="True",'
        f'num_gpu_blocks="{POOL_BLOCKS}",{labels}'
    )
    ended = [
        (f'vllm:request_success_total{{{labels},finished_reason="{reason}"}}', f"{count}.0")
        for reason, count in (("stop", counters.stopped), ("length", counters.cut_off), ("abort", 0))
    ]
    return [
        single("num_requests_running", "gauge", "Requests in model execution batches.", running),
        single("num_requests_waiting", "gauge", "Requests waiting to be processed.", len(replica.waiting)),
        single("kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.", usage),
        total("prefix_cache_queries_total", "Prefix cache queries, in tokens.", counters.queried_tokens),
        total("prefix_cache_hits_total", "Prefix cache hits, in tokens.", counters.hit_tokens),
        total("num_preemptions_total", "Preemptions by the engine.", 0),
        total("prompt_tokens_total", "Prefill tokens processed.", counters.queried_tokens),
        total("generation_tokens_total", "Generation tokens processed.", counters.generated_tokens),
        ("vllm:request_success_total", "counter", "Successfully processed requests.", ended),
        _histogram("time_to_first_token_seconds", labels, counters.ttft),
        _histogram("inter_token_latency_seconds", labels, counters.between_tokens),
        _histogram("e2e_request_latency_seconds", labels, counters.e2e),
        _histogram("request_queue_time_seconds", labels, counters.queue),
        _histogram("request_prefill_time_seconds", labels, counters.prefill),
        (
            "vllm:cache_config_info",
            "gauge",
            "Information of the LLMEngine CacheConfig",
            [(f"vllm:cache_config_info{{{cache}}}", "1.0")],
        ),
    ]


def _histogram(name: str, labels: str, histogram: Histogram) -> Family:
    full = f"vllm:{name}"
    samples = []
    reached = 0
    bounds = [str(bound) for bound in histogram.bounds]
    for bound, count in zip([*bounds, "+Inf"], histogram.counts, strict=True):
        reached += count
        samples.append((f'{full}_bucket{{{labels},le="{bound}"}}', f"{reached}.0"))
    samples.append((f"{full}_count{{{labels}}}", f"{reached}.0"))
    samples.append((f"{full}_sum{{{labels}}}", f"{histogram.total:.4f}"))
    return (
        full,
        "histogram",
        f"Histogram of {name.removesuffix('_seconds').replace('_', ' ')} in seconds.",
        samples,
    )


def gpu_page(number: int, gpu: Gpu) -> list[Family]:
    """dcgm-exporter's page of one node."""
    labels = (
        f'gpu="0",UUID="{names.gpu_uuid(number)}",pci_bus_id="00000000:07:00.0",device="nvidia0",'
        f'modelName="NVIDIA A100-SXM4-80GB",Hostname="{names.host(number)}",'
        f'DCGM_FI_DRIVER_VERSION="535.104.12"'
    )
    families: list[Family] = []
    for field, kind, about, value in gpu.fields():
        more = ""
        if field == "DCGM_FI_DEV_XID_ERRORS":
            more = f',err_code="{value}",err_msg="{gpu.xid_message}"'
        families.append((field, kind, about, [(f"{field}{{{labels}{more}}}", value)]))
    return families


class Node:
    """One host's network counters: they follow the requests it carries; 0.03 % of segments are sent again."""

    def __init__(self, name: str, rng: Random) -> None:
        self._name = name
        self._rng = rng
        self._sent = 900_000_000 + rng.randrange(10**8)
        self._again = self._sent * 3 // 10_000
        self._received_bytes = rng.randrange(10**12)
        self._sent_bytes = rng.randrange(10**12)

    def carry(self, requests: int, prompt_tokens: int) -> None:
        """A window's requests went through."""
        segments = 9_000 + self._rng.randrange(400) + 70 * requests
        expected = segments * 3e-4
        self._sent += segments
        self._again += max(0, round(self._rng.gauss(expected, expected**0.5)))
        self._received_bytes += 240 * segments + 5 * prompt_tokens
        self._sent_bytes += 610 * segments

    def page(self) -> list[Family]:
        """node_exporter's page, as far as it matters here."""
        label = f'instance="{self._name}:9100"'
        eth = f'device="eth0",{label}'
        values = (
            ("node_netstat_Tcp_OutSegs", "untyped", "Statistic TcpOutSegs.", label, self._sent),
            ("node_netstat_Tcp_RetransSegs", "untyped", "Statistic TcpRetransSegs.", label, self._again),
            ("node_network_receive_bytes_total", "counter", "Bytes received.", eth, self._received_bytes),
            ("node_network_transmit_bytes_total", "counter", "Bytes sent.", eth, self._sent_bytes),
        )
        return [
            (name, kind, about, [(f"{name}{{{labels}}}", str(value))])
            for name, kind, about, labels, value in values
        ]
