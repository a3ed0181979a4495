"""Spans of OTLP as JSON lines into columns, and the parsing of their JSON alone.

python tests/bench/otlp_json.py METHOD FILE

All make the columns of raw.span. The peers are told one attribute for each, that which the file holds if it
holds one; ours looks for every name it knows.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import ours
from measure import Cost
from methods import Method, compared, module, rows, run

SPANS = 300_000
_BATCH = 100  # spans a line
_MODELS = ("meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen3-32B", "deepseek-ai/DeepSeek-V3.2")
_AGENTS = ("OpenAI/Python 2.31.0", "python-requests/2.33.3", "Go-http-client/2.0", "okhttp/4.10.0")
_BEGIN_NS = 1_777_142_984_000_000_000
_SUMMED = "select count(*), sum(prompt_tokens)::bigint from {}"
_TEXTS = {
    "request_id": "gen_ai.request.id",
    "model": "gen_ai.request.model",
    "path": "url.path",
    "client_address": "client.address",
    "user_agent": "user_agent.original",
}
_WHOLES = {
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "max_tokens": "gen_ai.request.max_tokens",
    "http_status": "http.response.status_code",
}
_REALS = {
    "ttft_s": "gen_ai.latency.time_to_first_token",
    "queue_s": "gen_ai.latency.time_in_queue",
    "e2e_s": "gen_ai.latency.e2e",
}

# columns of which the file holds nothing
_NO_TEXTS = {
    "http_method": "http.request.method",
    "peer_address": "network.peer.address",
    "forwarded_for": "http.request.header.x-forwarded-for",
    "tenant": "tenant",
}
_NO_WHOLES = {"cached_tokens": "gen_ai.usage.cache_read.input_tokens"}
_NO_REALS = {
    "prefill_s": "gen_ai.latency.time_in_model_prefill",
    "decode_s": "gen_ai.latency.time_in_model_decode",
    "inference_s": "gen_ai.latency.time_in_model_inference",
}
_NO_FLAGS = {"is_streaming": "llm.is_streaming"}


def _write(path: Path, spans: int) -> None:
    """A file of so many spans as the Collector exports them: about 1,140 bytes and 12 attributes each."""
    draw = Random(3)
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, spans, _BATCH):
            made = [_span(number, draw) for number in range(first, min(first + _BATCH, spans))]
            told = {"service.name": "vllm", "host.name": f"hgx-{first // _BATCH % 4:03}"}
            resource = {"attributes": [_attribute(*one) for one in told.items()]}
            scopes = [{"scope": {"name": "vllm.llm_engine"}, "spans": made}]
            line = {"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def _span(number: int, draw: Random) -> dict[str, Any]:
    took_s = draw.lognormvariate(1, 1)
    start = _BEGIN_NS + number * 10_000_000
    values = (
        f"chatcmpl-{draw.getrandbits(128):032x}",
        draw.choice(_MODELS),
        "/v1/chat/completions",
        ".".join(str(draw.randrange(1, 255)) for _ in range(4)),
        draw.choice(_AGENTS),
        draw.randrange(1, 8000),
        draw.randrange(1, 2000),
        2048,
        draw.choice((200, 200, 200, 429)),
        took_s / 10,
        took_s / 50,
        took_s,
    )
    names = (*_TEXTS.values(), *_WHOLES.values(), *_REALS.values())
    return {
        "traceId": f"{draw.getrandbits(128):032x}",
        "spanId": f"{draw.getrandbits(64):016x}",
        "parentSpanId": f"{draw.getrandbits(64):016x}",
        "flags": 256,
        "name": "llm_request",
        "kind": 2,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + int(took_s * 1e9)),
        "attributes": [_attribute(*one) for one in zip(names, values, strict=True)],
        "status": {},
    }


def _attribute(key: str, value: str | float) -> dict[str, Any]:
    if isinstance(value, str):
        return {"key": key, "value": {"stringValue": value}}
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": str(value)}}
    return {"key": key, "value": {"doubleValue": value}}


def load(file: Path, scratch: Path) -> str:
    """The product's first step: typed rows in a DuckDB file."""
    return rows(*ours.one(ours.load(file, scratch / "x.duckdb"), _SUMMED.format("raw.span")))


def reader(file: Path, _: Path) -> str:
    """The product's reader alone."""
    from tracemortem.sources import otlp

    with file.open("rb") as stream:
        spans = [batch.rows["span"] for batch in otlp.read(stream)]
    return rows(sum(map(len, spans)), sum(span["prompt_tokens"].sum() for span in spans))


def small(file: Path, scratch: Path) -> str:
    """The product's reader as it reads small files, for which nothing is compiled."""
    from tracemortem.sources import otlp

    otlp.LARGE = sys.maxsize
    return reader(file, scratch)


def parsed(file: Path, _: Path) -> str:
    """orjson.loads of each line, and nothing made of what it gives."""
    import orjson

    with file.open("rb") as lines:
        return f"{sum(bool(orjson.loads(line)) for line in lines)} lines"


def duckdb_json(file: Path, scratch: Path) -> str:
    """DuckDB's read_json of declared columns, unnested, into a table of a DuckDB file."""
    import duckdb

    with duckdb.connect(scratch / "x.duckdb", config={"preserve_insertion_order": False}) as con:
        con.execute(_DUCKDB, {"path": str(file)})
        return rows(*con.execute(_SUMMED.format("span")).fetchall()[0])


def chdb(file: Path, scratch: Path) -> str:
    """chDB's JSONEachRow of declared columns, joined, into a MergeTree."""
    module("chdb")
    from chdb.session import Session

    session = Session(str(scratch / "chdb"))
    session.query(f"create table default.span engine MergeTree order by tuple() as {_CHDB.format(file)}")
    found = str(session.query("select count(), sum(prompt_tokens) from default.span")).strip().split(",")
    session.close()
    return rows(*found)


def _duckdb_columns() -> Iterator[str]:
    ways = (
        (_TEXTS | _NO_TEXTS, "stringValue", "varchar"),
        (_WHOLES | _NO_WHOLES, "intValue", "bigint"),
        (_REALS | _NO_REALS, "doubleValue", "double"),
        (_NO_FLAGS, "boolValue", "boolean"),
    )
    for names, field, dtype in ways:
        for column, name in names.items():
            at = f"list_position(keys, '{name}')"
            yield f"span.attributes[{at}].value.{field}::{dtype} as {column}"


_KINDS = "stringValue varchar, intValue varchar, doubleValue double, boolValue boolean"
_VALUE = f'struct("key" varchar, "value" struct({_KINDS}))[]'
_DUCKDB = f"""
create table span as
with resources as (
    select unnest(resourceSpans) as resource
    from read_json($path, format = 'newline_delimited', columns = {{
        resourceSpans: 'struct(resource struct(attributes {_VALUE}), scopeSpans struct(
            scope struct(name varchar), spans struct(traceId varchar, spanId varchar, parentSpanId varchar,
            name varchar, kind utinyint, startTimeUnixNano bigint, endTimeUnixNano bigint,
            attributes {_VALUE}, status struct(code utinyint, message varchar))[])[])[]'}})
), scopes as (
    select resource.resource.attributes as of_resource, unnest(resource.scopeSpans) as scope from resources
), spans as (
    select of_resource, scope.scope.name as scope, unnest(scope.spans) as span from scopes
), keyed as (
    select *, list_transform(span.attributes, lambda one: one.key) as keys,
        list_transform(of_resource, lambda one: one.key) as of_keys from spans
)
select span.traceId as trace_id, span.spanId as span_id, nullif(span.parentSpanId, '') as parent_span_id,
    span.name as name, span.kind as span_kind, make_timestamp(span.startTimeUnixNano // 1000) as started_at,
    make_timestamp(span.endTimeUnixNano // 1000) as finished_at,
    (span.endTimeUnixNano - span.startTimeUnixNano) / 1e9 as duration_s,
    span.status.code as status_code, span.status.message as status_message, scope,
    of_resource[list_position(of_keys, 'service.name')].value.stringValue as service,
    of_resource[list_position(of_keys, 'host.name')].value.stringValue as host, host as replica,
    {", ".join(_duckdb_columns())}
from keyed
"""


def _chdb_columns() -> Iterator[str]:
    ways = (
        (_TEXTS | _NO_TEXTS, "stringValue", "{}"),
        (_WHOLES | _NO_WHOLES, "intValue", "toInt64OrNull({})"),
        (_REALS | _NO_REALS, "doubleValue", "{}"),
        (_NO_FLAGS, "boolValue", "{}"),
    )
    for names, field, way in ways:
        for column, name in names.items():
            value = f"span.attributes.value.{field}[indexOf(span.attributes.key, '{name}')]"
            yield f"{way.format(value)} as {column}"


_OF_TUPLE = "stringValue String, intValue String, doubleValue Float64, boolValue Bool"
_TUPLES = f"Array(Tuple(key String, value Tuple({_OF_TUPLE})))"
_CHDB = f"""
select span.traceId as trace_id, span.spanId as span_id, span.parentSpanId as parent_span_id,
    span.name as name, span.kind as span_kind, fromUnixTimestamp64Nano(span.startTimeUnixNano) as started_at,
    fromUnixTimestamp64Nano(span.endTimeUnixNano) as finished_at,
    (span.endTimeUnixNano - span.startTimeUnixNano) / 1e9 as duration_s,
    span.status.code as status_code, span.status.message as status_message, scope.scope.name as scope,
    resource.resource.attributes.value.stringValue[
        indexOf(resource.resource.attributes.key, 'service.name')] as service,
    resource.resource.attributes.value.stringValue[
        indexOf(resource.resource.attributes.key, 'host.name')] as host, host as replica,
    {", ".join(_chdb_columns())}
from file('{{}}', JSONEachRow, 'resourceSpans Array(Tuple(resource Tuple(attributes {_TUPLES}),
    scopeSpans Array(Tuple(scope Tuple(name String), spans Array(Tuple(traceId String, spanId String,
    parentSpanId String, name String, kind UInt8, startTimeUnixNano Int64, endTimeUnixNano Int64,
    attributes {_TUPLES}, status Tuple(code UInt8, message String)))))))')
array join resourceSpans as resource array join resource.scopeSpans as scope array join scope.spans as span
"""
METHODS: Mapping[str, Method] = {
    "tracemortem rows": load,
    "chDB JSONEachRow": chdb,
    "DuckDB read_json": duckdb_json,
    "tracemortem reader": reader,
    "tracemortem reader of small files": small,
    "orjson.loads": parsed,
}


def written(folder: Path, spans: int = SPANS) -> Path:
    """The file."""
    (folder / "otlp_json").mkdir()
    file = folder / "otlp_json" / "spans.jsonl"
    _write(file, spans)
    return file


def costs(file: Path, runs: int) -> list[Cost]:
    """A row a method."""
    return compared(__file__, METHODS, file, runs)


if __name__ == "__main__":
    run(METHODS, *sys.argv[1:])
