"""Write a case down as an on-call engineer would hand it over: spans, log, metrics and events."""

import gzip
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from simulated.cases import Case
from simulated.fleet import Exchange
from simulated.scrapes import engine_samples, gpu_samples, query_range, text_pages
from simulated.shop import Node

_FORMAT = """log_format llm '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent" "$http_x_forwarded_for" rt=$request_time '
    'urt="$upstream_response_time" uaddr="$upstream_addr" rid=$request_id';
"""
_INNOCENT = (
    ("deploy", "gateway: new TLS certificates"),
    ("deploy", "billing service 4.1 rolled out"),
    ("config", "log level of the gateway changed"),
    ("page", "disk of a build machine 90 % full"),
    ("autoscaler", "no change: target utilisation met"),
)


def write(case: Case, folder: Path) -> Path:
    """All files of a case into a new folder; returns it."""
    shop = case.shop
    folder.mkdir(parents=True)
    _write(folder / "otel" / "spans.jsonl.gz", _spans(case))
    if shop.has_access_log:
        _write(folder / "nginx" / "access.log.gz", _access(case))
        _write(folder / "nginx" / "log_format.conf", [_FORMAT])
    gpu, engine = gpu_samples(case), engine_samples(case)
    if shop.metrics_as == "query_range":
        _write(folder / "prometheus" / "gpu.json", [query_range(gpu)])
        _write(folder / "prometheus" / "engines.json", [query_range(engine)])
    else:
        _write(folder / "dcgm" / "gpu.prom.gz", text_pages(gpu))
        _write(folder / "engines" / "metrics.prom.gz", text_pages(engine))
    if shop.has_events:
        _write(folder / "events.jsonl", _events(case))
    return folder


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    data = "".join(lines).encode()
    path.write_bytes(gzip.compress(data, 1, mtime=0) if path.suffix == ".gz" else data)


def _events(case: Case) -> Iterator[str]:
    """What people did, and what only happened near by, an innocent change just before the onset often."""
    rng = Random(case.seed)
    said = [event for part in case.parts for event in part.events if event[0] < 60 * case.shop.minutes]
    said += [
        (rng.uniform(0, 60 * case.shop.minutes), *rng.choice(_INNOCENT)) for _ in range(rng.randint(0, 2))
    ]
    if rng.random() < 0.6 or case.shop.has_decoy:
        said.append((case.start_s - rng.uniform(20, 300), *rng.choice(_INNOCENT)))
    for at, kind, text in sorted(said):
        time = datetime.fromtimestamp(case.shop.start + at, UTC).isoformat(timespec="seconds")
        yield json.dumps({"time": time.replace("+00:00", "Z"), "kind": kind, "text": text}) + "\n"


def _access(case: Case) -> Iterator[str]:
    start = case.shop.start
    for one in sorted(case.fleet.exchanges, key=lambda one: one.ended_at):
        took_s = one.ended_at - one.ask.at
        local = datetime.fromtimestamp(start + one.ended_at, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
        size = 180 + 40 * one.ask.output_tokens if one.status == 200 else 0 if one.status == 499 else 166
        client, peer = _addresses(case, one)
        forwarded = "-" if peer == client else client
        upstream = "-" if one.node is None else f"{one.node.address}:8000"
        upstream_s = "-" if one.node is None else f"{max(0.0, took_s - 0.001):.3f}"
        yield (
            f'{peer} - - [{local}] "POST /v1/chat/completions HTTP/1.1" {one.status} {size} "-" '
            f'"{one.ask.agent}" "{forwarded}" rt={took_s:.3f} urt="{upstream_s}" '
            f'uaddr="{upstream}" rid={_trace(case, one)}\n'
        )


def _addresses(case: Case, one: Exchange) -> tuple[str, str]:
    """The client's address as the gateway knows it, and that of whoever connects to the gateway."""
    if case.shop.hides_clients:
        return case.shop.peers[0], case.shop.peers[0]
    return one.ask.client, one.ask.peer


def _trace(case: Case, one: Exchange) -> str:
    mixed = (one.ask.number * 0x9E3779B97F4A7C15 + case.seed) % 2**64
    return f"{case.shop.start % 2**32:08x}{one.ask.number % 2**32:08x}{mixed:016x}"


def _spans(case: Case) -> Iterator[str]:
    """One export a minute: the gateway's spans, then those of each engine."""
    shop = case.shop
    minutes: dict[int, dict[Node | None, list[str]]] = {}
    for one in case.fleet.exchanges:
        if shop.has_gateway_spans:
            at_edge = minutes.setdefault(int(one.ended_at // 60), {}).setdefault(None, [])
            at_edge.append(_gateway_span(case, one))
        if one.job is not None and one.node is not None and 0 <= one.job.finished_at < 60 * shop.minutes:
            engines = minutes.setdefault(int(one.job.finished_at // 60), {})
            engines.setdefault(one.node, []).append(_engine_span(case, one))
    for minute in sorted(minutes):
        parts = []
        for node, spans in minutes[minute].items():
            said = [("service.name", shop.gateway if node is None else shop.engine)]
            said += (
                [("host.name", node.host), ("k8s.pod.name", node.pod)] if node else [("host.name", "edge-1")]
            )
            named = ",".join(_attribute(key, value) for key, value in said)
            scope = "nginx" if node is None else "vllm.llm_engine"
            parts.append(
                f'{{"resource":{{"attributes":[{named}]}},'
                f'"scopeSpans":[{{"scope":{{"name":"{scope}"}},"spans":[{",".join(spans)}]}}]}}'
            )
        yield f'{{"resourceSpans":[{",".join(parts)}]}}\n'


def _gateway_span(case: Case, one: Exchange) -> str:
    client, peer = _addresses(case, one)
    attributes = (
        ("http.request.method", "POST"), ("url.path", "/v1/chat/completions"),
        ("http.response.status_code", one.status), ("client.address", client),
        ("network.peer.address", peer), ("user_agent.original", one.ask.agent),
    )  # fmt: skip
    return _span(case, one, "POST /v1/chat/completions", one.ask.at, one.ended_at, attributes, "")


def _engine_span(case: Case, one: Exchange) -> str:
    job, node, shop = one.job, one.node, case.shop
    assert job is not None
    assert node is not None
    begun = job.arrived_at - one.inside_s
    first_s, queue_s, whole_s = (
        job.first_token_at - begun,
        job.scheduled_at - job.arrived_at,
        job.finished_at - begun,
    )
    attributes: list[tuple[str, object]] = [
        ("gen_ai.request.id", f"chatcmpl-{_trace(case, one)}"),
        ("gen_ai.response.model" if shop.dialect == "v0" else "gen_ai.request.model", shop.model),
        ("gen_ai.usage.prompt_tokens", job.prompt_tokens),
        ("gen_ai.usage.completion_tokens", job.output_tokens),
        ("gen_ai.latency.time_in_queue", queue_s),
        ("gen_ai.latency.time_to_first_token", first_s),
        ("gen_ai.latency.e2e", whole_s),
    ]
    if shop.dialect == "v0":
        attributes.append(("gen_ai.latency.time_in_model_forward", job.finished_at - job.scheduled_at))
    else:
        attributes.append(("gen_ai.latency.time_in_model_prefill", job.first_token_at - job.scheduled_at))
        attributes.append(("gen_ai.latency.time_in_model_decode", job.finished_at - job.first_token_at))
    if shop.says_cached:
        attributes.append(("gen_ai.usage.cached_tokens", job.cached_tokens))
    ahead_s = node.clock_s + case.clock_jump_s(node, job.arrived_at)
    parent = f'"parentSpanId":"{_id(one, 1)}",'
    return _span(case, one, "llm_request", begun + ahead_s, job.finished_at + ahead_s, attributes, parent)


def _span(
    case: Case,
    one: Exchange,
    name: str,
    start: float,
    end: float,
    attributes: Iterable[tuple[str, object]],
    parent: str,
) -> str:
    base = case.shop.start * 1_000_000
    said = ",".join(_attribute(key, value) for key, value in attributes)
    return (
        f'{{"traceId":"{_trace(case, one)}","spanId":"{_id(one, 2 if parent else 1)}",{parent}'
        f'"name":"{name}","kind":2,"startTimeUnixNano":"{base + round(start * 1e6)}000",'
        f'"endTimeUnixNano":"{base + round(end * 1e6)}000",'
        f'"attributes":[{said}],"status":{{}}}}'
    )


def _id(one: Exchange, salt: int) -> str:
    return f"{salt:02x}{one.ask.attempt:02x}{one.ask.number % 2**48:012x}"


def _attribute(key: str, value: object) -> str:
    if isinstance(value, str):
        return f'{{"key":"{key}","value":{{"stringValue":"{value}"}}}}'
    if isinstance(value, int):
        return f'{{"key":"{key}","value":{{"intValue":"{value}"}}}}'
    return f'{{"key":"{key}","value":{{"doubleValue":{value:.6f}}}}}'
