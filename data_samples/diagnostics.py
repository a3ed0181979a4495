"""The engines' own diagnostics, every 15 s: OTLP JSON metrics, one export a line."""

from collections import deque
from typing import TextIO

import names
from engine import Replica
from plan import SCRAPE_S, WARM_UP_AT, unix_ms
from readings import Window, quantile
from spans import resource

MINUTE = 60 // SCRAPE_S
_PREFIX = "deepseek_diagnostics"


class Diagnostics:
    """What the engines report; throughput is over the last minute, everything else over the last window."""

    def __init__(self, replicas: int) -> None:
        self._prefills = [deque[tuple[int, float]](maxlen=MINUTE) for _ in range(replicas)]

    def write(self, out: TextIO, number: int, replica: Replica, window: Window, at: float) -> None:
        """One line: what one replica says about the window that ends at that time."""
        prefills = self._prefills[number]
        prefills.append((window.prompt_tokens, window.prefill_s))
        tokens = sum(tokens for tokens, _ in prefills)
        seconds = sum(seconds for _, seconds in prefills)
        waits = [(wait_s, 1) for wait_s in window.block_waits_s]
        gauges = (
            ("prefill_throughput", "{token}/s", _ratio(tokens, seconds)),
            ("decode_latency.p50", "ms", _ms(quantile(window.decode_s, 0.50))),
            ("decode_latency.p99", "ms", _ms(quantile(window.decode_s, 0.99))),
            ("kv_cache.hit_rate", "1", _ratio(window.hit_tokens, window.queried_tokens)),
            ("kv_cache.fragmentation", "1", replica.pool.fragmentation_ratio()),
            ("attention.compute_time_p99", "ms", _ms(quantile(window.attention_s, 0.99))),
            ("scheduler.block_wait_p99", "ms", _ms(quantile(waits, 0.99))),
        )
        sums = (
            ("kv_cache.eviction_count", "{eviction}", replica.pool.evictions),
            ("scheduler.block_allocations", "{allocation}", replica.counters.allocations),
            ("scheduler.block_frees", "{free}", replica.counters.frees),
        )
        at_ns = f"{unix_ms(at) + names.clock_offset_ms(number)}000000"
        metrics = [
            f'{{"name":"{_PREFIX}.{name}","unit":"{unit}","gauge":{{"dataPoints":'
            f'[{{"timeUnixNano":"{at_ns}","asDouble":{round(value, 4)}}}]}}}}'
            for name, unit, value in gauges
            if value is not None  # nothing happened in the window: no point, rather than a zero
        ]
        metrics += [
            f'{{"name":"{_PREFIX}.{name}","unit":"{unit}","sum":{{"dataPoints":'
            f'[{{"startTimeUnixNano":"{unix_ms(WARM_UP_AT)}000000","timeUnixNano":"{at_ns}","asInt":"{value}"}}],'
            f'"aggregationTemporality":2,"isMonotonic":true}}}}'
            for name, unit, value in sums
        ]
        said = resource(names.ENGINE_SERVICE, names.host(number), names.engine_pod(number))
        scope = f'{{"scope":{{"name":"{_PREFIX}"}},"metrics":[{",".join(metrics)}]}}'
        out.write(f'{{"resourceMetrics":[{{"resource":{said},"scopeMetrics":[{scope}]}}]}}\n')


def _ratio(amount: float, of: float) -> float | None:
    return amount / of if of else None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
