"""Made-up traces of an LLM gateway as OTLP, of any size: a message a batch, as the Collector exports them.

The same arguments give the same bytes. What repeats in real traces (models, clients, user agents) is drawn
from pools; ids, times and counts are as varied as they are there.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, TracesData

_BATCH = 512  # spans a message
_BEGIN_NS = 1_777_142_984_000_000_000
_MODELS = ("meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen3-32B", "deepseek-ai/DeepSeek-V3.2")
_AGENTS = ("OpenAI/Python 2.31.0", "python-requests/2.33.3", "Go-http-client/2.0", "okhttp/4.10.0")
_STATUSES = (200, 200, 200, 200, 200, 200, 429, 500)
_PREFIX = 4


def write(path: Path, spans: int) -> None:
    """A file of so many spans, each message after its length; about 570 bytes and 12 attributes a span."""
    with path.open("wb") as file:
        for message in messages(spans):
            body = message.SerializeToString(deterministic=True)
            file.write(len(body).to_bytes(_PREFIX, "big") + body)


def bodies(path: Path) -> Iterator[bytes]:
    """The messages of such a file."""
    with path.open("rb") as file:
        while prefix := file.read(_PREFIX):
            yield file.read(int.from_bytes(prefix, "big"))


def messages(spans: int) -> Iterator[TracesData]:
    """The messages, in the order of their spans' ends."""
    draw = np.random.default_rng(3)
    clients = [".".join(map(str, four)) for four in draw.integers(1, 255, (2000, 4))]
    for first in range(0, spans, _BATCH):
        message = TracesData()
        of_resource = message.resource_spans.add()
        _describe(of_resource, replica=first // _BATCH % 16)
        for number in range(first, min(first + _BATCH, spans)):
            _fill(of_resource.scope_spans[0].spans.add(), number, draw, clients)
        yield message


def _describe(of: ResourceSpans, replica: int) -> None:
    told = {
        "service.name": "vllm",
        "host.name": f"hgx-{replica // 4:03}",
        "k8s.pod.name": f"vllm-7f9c5d-{replica:05}",
        "telemetry.sdk.language": "python",
    }
    resource = Resource()
    for key, text in told.items():
        resource.attributes.add(key=key).value.string_value = text
    of.resource.CopyFrom(resource)
    of.scope_spans.append(ScopeSpans(scope=InstrumentationScope(name="vllm.llm_engine", version="0.19.1")))


def _fill(span: Span, number: int, draw: np.random.Generator, clients: list[str]) -> None:
    tokens = draw.integers(1, 4000, 3).tolist()
    first_s, took_s = (float(value) for value in draw.lognormal((-1, 1), 1))
    choice = draw.integers(0, 1 << 30, 4).tolist()
    span.trace_id, span.span_id, span.parent_span_id = draw.bytes(16), draw.bytes(8), draw.bytes(8)
    span.name, span.kind = "llm_request", Span.SPAN_KIND_SERVER
    span.start_time_unix_nano = _BEGIN_NS + number * 10_000_000
    span.end_time_unix_nano = span.start_time_unix_nano + int(took_s * 1e9)
    status = _STATUSES[choice[0] % len(_STATUSES)]
    if status == _STATUSES[-1]:
        span.status.code, span.status.message = 2, "engine is overloaded"
    attributes = {
        "gen_ai.request.id": f"chatcmpl-{draw.bytes(16).hex()}",
        "gen_ai.request.model": _MODELS[choice[1] % len(_MODELS)],
        "gen_ai.request.max_tokens": tokens[0],
        "gen_ai.usage.prompt_tokens": tokens[1],
        "gen_ai.usage.completion_tokens": tokens[2],
        "gen_ai.latency.time_to_first_token": first_s,
        "gen_ai.latency.e2e": took_s,
        "http.request.method": "POST",
        "url.path": "/v1/chat/completions",
        "http.response.status_code": status,
        "client.address": clients[choice[2] % len(clients)],
        "user_agent.original": _AGENTS[choice[3] % len(_AGENTS)],
    }
    for key, value in attributes.items():
        held = span.attributes.add(key=key).value
        if isinstance(value, str):
            held.string_value = value
        elif isinstance(value, float):
            held.double_value = value
        else:
            held.int_value = value
