"""Spans as the OpenTelemetry Collector's file exporter writes them: OTLP JSON, one export a line."""

from collections.abc import Iterable
from itertools import groupby
from random import Random
from typing import TextIO

import names
from gateway import Exchange
from plan import unix_ms
from traffic import MAX_OUTPUT_TOKENS

LEDGER_PER_S = 0.1  # requests of the other service on one node


def string(key: str, value: str) -> str:
    """A text attribute."""
    return f'{{"key":"{key}","value":{{"stringValue":"{value}"}}}}'


def integer(key: str, value: int) -> str:
    """A whole-number attribute; OTLP JSON writes 64-bit integers as text."""
    return f'{{"key":"{key}","value":{{"intValue":"{value}"}}}}'


def resource(service: str, host: str, pod: str) -> str:
    """Who speaks."""
    said = (
        string("service.name", service),
        string("host.name", host),
        string("k8s.pod.name", pod),
        string("k8s.namespace.name", "counsel"),
    )
    return f'{{"attributes":[{",".join(said)}]}}'


def write_spans(out: TextIO, exchanges: list[Exchange], ledger: Iterable[tuple[int, str]]) -> None:
    """One line: the gateway's spans, then each engine's, then the other service's on each node.

    exchanges  those ended since the line before
    ledger     (replica, span) of the other service, ordered by replica
    """
    parts = []
    if exchanges:
        said = resource(names.GATEWAY_SERVICE, names.GATEWAY_HOST, names.GATEWAY_POD)
        parts.append(_part(said, "nginx", (_gateway_span(one) for one in exchanges)))
    served = sorted((one for one in exchanges if one.finished), key=lambda one: (one.replica, one.number))
    for replica, group in groupby(served, key=lambda one: one.replica):
        said = resource(names.ENGINE_SERVICE, names.host(replica), names.engine_pod(replica))
        parts.append(_part(said, "vllm.llm_engine", (_engine_span(one) for one in group)))
    for replica, spans in groupby(ledger, key=lambda one: one[0]):
        said = resource(names.LEDGER_SERVICE, names.host(replica), names.ledger_pod(replica))
        parts.append(_part(said, "ledger", (span for _, span in spans)))
    if parts:
        out.write(f'{{"resourceSpans":[{",".join(parts)}]}}\n')


def _part(said: str, scope: str, spans: Iterable[str]) -> str:
    body = ",".join(spans)
    return f'{{"resource":{said},"scopeSpans":[{{"scope":{{"name":"{scope}"}},"spans":[{body}]}}]}}'


def _gateway_span(one: Exchange) -> str:
    client = one.request.client
    attributes = (
        string("http.request.method", "POST"),
        string("url.path", "/v1/chat/completions"),
        integer("http.response.status_code", one.request.status),
        string("client.address", client.address),
        string("network.peer.address", client.peer),
        string("user_agent.original", client.user_agent),
    )
    return (
        f'{{"traceId":"{names.trace_id(names.GATEWAY, one.started_ms, one.number)}",'
        f'"spanId":"{names.span_id(names.GATEWAY, one.number)}","name":"POST /v1/chat/completions","kind":2,'
        f'"startTimeUnixNano":"{unix_ms(0) + one.started_ms}000000",'
        f'"endTimeUnixNano":"{unix_ms(0) + one.ended_ms}000000",'
        f'"attributes":[{",".join(attributes)}],"status":{{}}}}'
    )


def _engine_span(one: Exchange) -> str:
    finished, request = one.finished, one.request
    assert finished is not None
    trace = names.trace_id(names.GATEWAY, one.started_ms, one.number)
    offset_s = names.clock_offset_ms(one.replica) / 1000
    started = round((request.arrives_at + offset_s) * 1e4)  # in units of 100 us
    first = round((finished.first_token_at - request.arrives_at) * 1e4)
    queued = round((finished.scheduled_at - request.arrives_at) * 1e4)
    whole = round((finished.finished_at - request.arrives_at) * 1e4)
    since_1970 = unix_ms(0) * 10 + started
    attributes = (
        string("gen_ai.request.id", f"chatcmpl-{trace}"),
        string("gen_ai.request.model", names.MODEL),
        integer("gen_ai.request.max_tokens", MAX_OUTPUT_TOKENS),
        integer("gen_ai.usage.prompt_tokens", request.prompt_tokens),
        integer("gen_ai.usage.cached_tokens", finished.cached_tokens),
        integer("gen_ai.usage.completion_tokens", request.output_tokens),
        _seconds("gen_ai.latency.time_in_queue", queued),
        _seconds("gen_ai.latency.time_to_first_token", first),
        _seconds("gen_ai.latency.e2e", whole),
        _seconds("gen_ai.latency.time_in_model_prefill", first - queued),
        _seconds("gen_ai.latency.time_in_model_decode", whole - first),
    )
    return (
        f'{{"traceId":"{trace}","spanId":"{names.span_id(names.ENGINE, one.number)}",'
        f'"parentSpanId":"{names.span_id(names.GATEWAY, one.number)}","name":"llm_request","kind":2,'
        f'"startTimeUnixNano":"{since_1970}00000","endTimeUnixNano":"{since_1970 + whole}00000",'
        f'"attributes":[{",".join(attributes)}],"status":{{}}}}'
    )


def _seconds(key: str, tenths_of_ms: int) -> str:
    return f'{{"key":"{key}","value":{{"doubleValue":{tenths_of_ms / 1e4}}}}}'


class Ledger:
    """The other service: small embedding requests, computed on the nodes' CPUs, so untouched."""

    def __init__(self, rng: Random, replicas: int) -> None:
        self._rng = rng
        self._next_at = [rng.expovariate(LEDGER_PER_S) for _ in range(replicas)]
        self._number = 0

    def spans(self, until: float) -> Iterable[tuple[int, str]]:
        """(replica, span) of the requests begun since the last call."""
        for replica in range(len(self._next_at)):
            while (at := self._next_at[replica]) <= until:
                self._next_at[replica] = at + self._rng.expovariate(LEDGER_PER_S)
                yield replica, self._span(replica, at)

    def _span(self, replica: int, at: float) -> str:
        self._number += 1
        started = unix_ms(at) + names.clock_offset_ms(replica)
        lasted = 6 + round(self._rng.lognormvariate(2.2, 0.4))
        status = 400 if self._rng.random() < 0.003 else 200
        address = f"10.40.0.{20 + self._rng.randrange(12)}"
        attributes = (
            string("http.request.method", "POST"),
            string("url.path", "/v1/embeddings"),
            integer("http.response.status_code", status),
            string("client.address", address),
            string("network.peer.address", address),
        )
        return (
            f'{{"traceId":"{names.trace_id(names.LEDGER, int(at * 1000), self._number)}",'
            f'"spanId":"{names.span_id(names.LEDGER, self._number)}","name":"POST /v1/embeddings","kind":2,'
            f'"startTimeUnixNano":"{started}000000","endTimeUnixNano":"{started + lasted}000000",'
            f'"attributes":[{",".join(attributes)}],"status":{{}}}}'
        )
