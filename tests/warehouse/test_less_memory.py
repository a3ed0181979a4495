"""Requests are put together in less memory than they take: what exceeds it goes to disk."""

from pathlib import Path

from tracemortem import folders
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.warehouse.build import build
from tracemortem.warehouse.store import Store

REQUESTS = 200_000
SPANS = """
    insert into raw.span by name
    select
        1 as file_id, 2 * i + is_engine as line, 2 as span_kind, 'chat' as name,
        md5(i::varchar) as trace_id, md5((2 * i + is_engine)::varchar)[:16] as span_id,
        md5((i + 7)::varchar) as request_id, 100 as prompt_tokens, 1.5 as duration_s,
        make_timestamptz(1764720000000000 + i * 1000) as started_at,
        if(is_engine = 1, md5((2 * i)::varchar)[:16], null) as parent_span_id,
        if(is_engine = 1, 'engine', 'gateway') as service,
        if(is_engine = 1, 'r' || i % 4, null) as replica,
        if(is_engine = 1, 0.1, null) as queue_s,
        if(is_engine = 0, '/v1/chat/' || md5(i::varchar), null) as path,
        if(is_engine = 0, 'agent ' || md5((i + 1)::varchar) || md5((i + 2)::varchar), null) as user_agent
    from range($requests) as one(i), range(2) as side(is_engine)
"""


def test_requests_are_joined_and_sorted_in_a_fraction_of_what_they_take(tmp_path: Path):
    values = opened.values(Settings(("x",)))
    with Store(tmp_path / "out.duckdb", memory_limit="160MB", threads=2) as store:
        store.run(SPANS, {"requests": REQUESTS})
        build(store, folders.folder("sql"), values, ["norm"], only=["norm.request"])
        put_together = store.scalar(
            "select count(*) from norm.request where has_gateway_span and has_engine_span"
        )
    assert put_together == REQUESTS
