"""Made-up inputs of any size for the benchmarks: access logs and GPU metrics.

The same arguments give the same bytes. What repeats in real files (addresses, user agents, some paths) is
drawn from pools; request ids, times and sizes are as varied as they are there.
"""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

LOG_FORMAT = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
    '"$http_user_agent" "$http_x_forwarded_for" rt=$request_time urt="$upstream_response_time" '
    'uaddr="$upstream_addr" rid=$request_id'
)
_LINE = (
    '{client} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "POST {path} HTTP/1.1" {status} {sent} "-" '
    '"{agent}" "{through}" rt={took:.3f} urt="{upstream:.3f}" uaddr="{engine}" rid={request_id}'
)
_JSON_LINE = (
    '{{"time_iso8601":"{at:%Y-%m-%dT%H:%M:%S}+00:00","remote_addr":"{client}","remote_user":"",'
    '"http_x_forwarded_for":"{through}","request_method":"POST","request_uri":"{path}",'
    '"server_protocol":"HTTP/1.1","status":{status},"body_bytes_sent":{sent},"request_time":{took:.3f},'
    '"upstream_response_time":"{upstream:.3f}","upstream_addr":"{engine}","http_user_agent":"{agent}",'
    '"http_host":"llm.example.com","request_id":"{request_id}","ssl_protocol":"TLSv1.3"}}'
)
_BEGIN = datetime(2026, 4, 24, 1, 35, tzinfo=UTC)
_CHUNK = 50_000
_ERROR = "2026/04/24 02:17:09 [error] 31#31: *4711 upstream timed out (110: Connection timed out)"
_AGENTS = (
    "python-requests/2.33.3", "okhttp/4.10.0", "OpenAI/Python 2.31.0", "Go-http-client/2.0", "curl/8.5.0",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/145.0.0.0 Safari/537.36",
)  # fmt: skip
_PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses?stream=true")
_METRICS = (
    "SM_CLOCK", "MEM_CLOCK", "MEMORY_TEMP", "GPU_TEMP", "POWER_USAGE", "TOTAL_ENERGY_CONSUMPTION", "GPU_UTIL",
    "PCIE_REPLAY_COUNTER", "MEM_COPY_UTIL", "ENC_UTIL", "DEC_UTIL", "XID_ERRORS", "FB_FREE", "FB_USED",
    "FB_RESERVED", "NVLINK_BANDWIDTH_TOTAL", "VGPU_LICENSE_STATUS", "CLOCK_THROTTLE_REASONS",
)  # fmt: skip
_GPUS = 128


def nginx_log(path: Path, lines: int, malformed: int = 9) -> list[int]:
    """A log in LOG_FORMAT, about 220 bytes a line; returns the numbers of the lines that are malformed."""
    return _log(path, _LINE, lines, malformed)


def json_log(path: Path, lines: int, malformed: int = 9) -> list[int]:
    """The same requests as JSON lines, about 470 bytes each, with keys named like nginx's variables."""
    return _log(path, _JSON_LINE, lines, malformed)


def dcgm_text(path: Path, samples: int, *, is_openmetrics: bool = False) -> None:
    """Scrapes of dcgm-exporter one after another, about 300 bytes a sample, 2,304 series, 15 s apart.

    is_openmetrics   as promtool wants it: times in seconds, all samples of a metric together, `# EOF`
    """
    draw = np.random.default_rng(11)
    keys = [
        f'{{gpu="{gpu % 8}",UUID="GPU-{draw.bytes(4).hex()}-2a96-95b9-fa97-{draw.bytes(6).hex()}",'
        f'pci_bus_id="00000000:{gpu % 8 + 7:02}:00.0",device="nvidia{gpu % 8}",modelName="NVIDIA H100 80GB",'
        f'Hostname="hgx-{gpu // 8:03}.iad7",DCGM_FI_DRIVER_VERSION="570.86.15",namespace="llm-serving",'
        f'pod="vllm-decode-{draw.bytes(5).hex()}",container="vllm"}}'
        for gpu in range(_GPUS)
    ]
    scrapes = -(-samples // (len(keys) * len(_METRICS)))
    order = itertools.product(range(scrapes), _METRICS)
    if is_openmetrics:
        order = ((scrape, metric) for metric, scrape in itertools.product(_METRICS, range(scrapes)))
    left, told = samples, ""
    with path.open("w", encoding="utf-8") as file:
        for scrape, metric in order:
            name = f"DCGM_FI_DEV_{metric}"
            if not is_openmetrics or metric != told:
                file.write(f"# HELP {name} what DCGM tells of {metric}.\n# TYPE {name} gauge\n")
            told = metric
            millis = int(_BEGIN.timestamp()) * 1000 + scrape * 15_000
            stamp = f"{millis / 1000:.3f}" if is_openmetrics else str(millis)
            values = np.random.default_rng([scrape, _METRICS.index(metric)]).integers(0, 200_000, len(keys))
            of_this = min(left, len(keys))
            file.writelines(
                f"{name}{key} {value / 100:g} {stamp}\n"
                for key, value in zip(keys[:of_this], values, strict=False)
            )
            left -= of_this
        if is_openmetrics:
            file.write("# EOF\n")


def _log(path: Path, template: str, lines: int, malformed: int) -> list[int]:
    draw = np.random.default_rng(7)
    broken = sorted(int(place) + 1 for place in draw.choice(lines, min(malformed, lines), replace=False))
    with path.open("w", encoding="utf-8") as file:
        for number, fields in enumerate(_requests(lines), start=1):
            line = template.format(**fields)
            if number in broken:  # in turn: another log's line, and a line that was cut off
                line = _ERROR if broken.index(number) % 2 else line[: len(line) // 2]
            file.write(f"{line}\n")
    return broken


def _requests(count: int) -> Iterator[dict[str, object]]:
    """The fields of each request, in the order of their ends."""
    draw = np.random.default_rng(5)
    clients = [".".join(map(str, four)) for four in draw.integers(1, 255, (5000, 4))]
    engines = [f"10.39.{a}.{b}:8080" for a, b in draw.integers(1, 255, (64, 2))]
    for begin in range(0, count, _CHUNK):
        of_this = min(_CHUNK, count - begin)
        took = draw.lognormal(0, 1, of_this)
        columns = {
            "client": draw.choice(clients, of_this).tolist(),
            "through": np.where(draw.random(of_this) < 0.5, "-", draw.choice(clients, of_this)).tolist(),
            "path": draw.choice(_PATHS, of_this).tolist(),
            "status": draw.choice((200, 200, 200, 200, 429, 499, 500), of_this).tolist(),
            "sent": draw.integers(150, 90_000, of_this).tolist(),
            "agent": draw.choice(_AGENTS, of_this).tolist(),
            "took": took.tolist(),
            "upstream": (took * 0.98).tolist(),
            "engine": draw.choice(engines, of_this).tolist(),
            "request_id": [draw.bytes(16).hex() for _ in range(of_this)],
        }
        for number, values in enumerate(zip(*columns.values(), strict=True), start=begin):
            at = _BEGIN + timedelta(milliseconds=number * 10)
            yield {"at": at, **dict(zip(columns, values, strict=True))}
