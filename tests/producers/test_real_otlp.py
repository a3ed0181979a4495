"""What OpenTelemetry's own SDK sends is read back span by span, point by point, record by record."""

import gzip
import struct
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode

from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

RESOURCE = Resource.create({"service.name": 'vllm "é"', "host.name": "n1", "k8s.pod.name": "vllm-0"})


@pytest.fixture
def received(upstream, tmp_path: Path) -> Iterator:
    """A function: all bodies that were sent to the server, framed as the Collector writes them to a file."""

    def framed() -> Path:
        path = tmp_path / "received.pb"
        with path.open("wb") as stream:
            for _, encoding, body in upstream.RequestHandlerClass.bodies:
                message = gzip.decompress(body) if encoding == "gzip" else body
                stream.write(struct.pack(">I", len(message)) + message)
        return path

    return framed


def rows(path: Path, table: str) -> pl.DataFrame:
    (found,) = survey([str(path)])
    batches = list(read(found))
    assert found.format == "otlp_protobuf"
    assert [batch.rejects.to_dicts() for batch in batches if batch.rejects.height] == []
    return pl.concat(batch.rows[table] for batch in batches if table in batch.rows)


def url(upstream, signal: str) -> str:
    return f"http://127.0.0.1:{upstream.server_port}/v1/{signal}"


def test_every_span_is_a_row_with_what_it_said(upstream, received):
    kept = InMemorySpanExporter()
    provider = TracerProvider(resource=RESOURCE, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(url(upstream, "traces"), compression=Compression.Gzip)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("vllm.llm_engine", "1.0")
    for number in range(300):
        with tracer.start_as_current_span("gateway", kind=SpanKind.CLIENT) as outer:
            outer.set_attribute("http.request.method", "POST")
            with tracer.start_as_current_span("llm_request", kind=SpanKind.SERVER) as span:
                span.set_attribute("gen_ai.usage.input_tokens", 1000 + number)
                span.set_attribute("gen_ai.latency.time_to_first_token", number / 7)
                span.set_attribute("tags", ["a", 'b"c', "模"])
                span.add_event("first token", {"n": 1})
                if number % 3 == 0:
                    span.set_status(Status(StatusCode.ERROR, f'failed: "{number}"\n'))
    provider.shutdown()
    columns = (
        "trace_id", "span_id", "parent_span_id", "name", "span_kind", "status_code", "status_message",
        "scope", "service", "host", "replica", "prompt_tokens", "ttft_s", "http_method",
    )  # fmt: skip
    got = rows(received(), "span")
    assert sorted(got.select(columns).rows(), key=repr) == sorted(
        map(_expected, kept.get_finished_spans()), key=repr
    )
    nanoseconds = {
        f"{one.context.span_id:016x}": one.end_time - one.start_time for one in kept.get_finished_spans()
    }
    assert (
        dict(got.select("span_id", (pl.col("duration_s") * 1e9).round().cast(pl.Int64)).rows()) == nanoseconds
    )


def test_a_body_saved_as_it_was_sent_is_read_by_itself(upstream, tmp_path):
    provider = TracerProvider(resource=RESOURCE, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(url(upstream, "traces"), compression=Compression.Gzip)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("engine").start_as_current_span("llm_request") as span:
        pass
    provider.shutdown()
    [(_, _, body)] = upstream.RequestHandlerClass.bodies
    (tmp_path / "body").write_bytes(body)
    (found,) = survey([str(tmp_path / "body")])
    [batch] = read(found)
    assert found.format == "otlp_protobuf_bare"
    assert batch.rows["span"].select("span_id", "name", "service").rows() == [
        (f"{span.get_span_context().span_id:016x}", "llm_request", 'vllm "é"')
    ]


def _expected(span: ReadableSpan) -> tuple[object, ...]:
    kinds = {SpanKind.CLIENT: 3, SpanKind.SERVER: 2}
    return (
        f"{span.context.trace_id:032x}",
        f"{span.context.span_id:016x}",
        None if span.parent is None else f"{span.parent.span_id:016x}",
        span.name,
        kinds[span.kind],
        span.status.status_code.value,
        span.status.description or None,
        "vllm.llm_engine",
        'vllm "é"',
        "n1",
        "vllm-0",
        span.attributes.get("gen_ai.usage.input_tokens"),
        span.attributes.get("gen_ai.latency.time_to_first_token"),
        span.attributes.get("http.request.method"),
    )


def test_every_point_is_a_sample(upstream, received):
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(url(upstream, "metrics")), 3_600_000)
    provider = MeterProvider([reader], RESOURCE, shutdown_on_exit=False)
    meter = provider.get_meter("engine")
    counter = meter.create_counter("vllm.prompt_tokens", unit="{token}")
    counter.add(41, {"engine": "0"})
    counter.add(1, {"engine": "0"})
    counter.add(7, {"engine": 'say "1"'})
    meter.create_up_down_counter("vllm.num_requests_running").add(-3)
    meter.create_gauge("vllm.kv_cache_usage_perc").set(0.75)
    histogram = meter.create_histogram("latency", unit="s", explicit_bucket_boundaries_advisory=[0.1, 1.0])
    for seconds in (0.05, 0.5, 5.0):
        histogram.record(seconds)
    provider.shutdown()
    path = received()
    named = rows(path, "sample").join(rows(path, "series"), on="series_no")
    got = {
        (
            name,
            frozenset((one["key"], one["value"]) for one in labels if one["key"] in {"engine", "le"}),
        ): value
        for name, labels, value in named.select("name", "labels", "value").rows()
    }
    expected = {
        ("vllm.prompt_tokens", frozenset({("engine", "0")})): 42.0,
        ("vllm.prompt_tokens", frozenset({("engine", 'say "1"')})): 7.0,
        ("vllm.num_requests_running", frozenset()): -3.0,
        ("vllm.kv_cache_usage_perc", frozenset()): 0.75,
        ("latency_count", frozenset()): 3.0,
        ("latency_sum", frozenset()): 5.55,
    }
    assert {key: got.get(key) for key in expected} == expected
    assert named.select(pl.col("service", "host", "replica").unique()).rows() == [
        ('vllm "é"', "n1", "vllm-0")
    ]


def test_every_log_record_is_a_row(upstream, received):
    provider = LoggerProvider(RESOURCE, shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(url(upstream, "logs"))))
    logger = provider.get_logger("engine")
    bodies = ["plain", 'say "hi"\n模', "x" * 70_000]
    for number, body in enumerate(bodies):
        logger.emit(
            timestamp=1_770_116_527_000_000_000 + number * 1_000_000,
            severity_text="ERROR",
            body=body,
            attributes={"n": number},
        )
    provider.shutdown()
    got = rows(received(), "log")
    assert got.select((pl.col("at").dt.epoch("ms")), "severity", "body", "service").rows() == [
        (1_770_116_527_000 + number, "ERROR", body, 'vllm "é"') for number, body in enumerate(bodies)
    ]
