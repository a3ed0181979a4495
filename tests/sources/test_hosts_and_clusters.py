"""vLLM's log, netstat and Kubernetes events: what each line or entry says, and when."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
import pytest

from tracemortem.sources import json_documents, kubernetes_events, netstat, vllm_log
from tracemortem.sources.batch import Batch
from tracemortem.sources.clock import Clock
from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

AT = datetime(2026, 8, 23, 6, 14, 11, tzinfo=UTC)
CLOCK = Clock(AT + timedelta(days=3), timezone="Europe/Berlin", source="the time of the file's last change")
V1 = (
    "(APIServer pid=1) INFO 08-23 08:14:11 [loggers.py:310] Engine 000: "
    "Avg prompt throughput: 79.0 tokens/s, "
    "Avg generation throughput: 3.7 tokens/s, Running: 1 reqs, Waiting: 0 reqs, Preemptions: 3, "
    "GPU KV cache usage: 0.4%, Prefix cache hit rate: 12.0%\n"
)
V0 = (
    "INFO 08-23 08:14:11 metrics.py:418] Avg prompt throughput: 5.0 tokens/s, Avg generation throughput: "
    "3.7 tokens/s, Running: 2 reqs, Swapped: 0 reqs, Pending: 7 reqs, GPU KV cache usage: 95.2%, "
    "CPU KV cache usage: 0.0%.\n"
)
NETSTAT = """Ip:
    Forwarding: 1
    500 total packets received
Tcp:
    12 active connection openings
    900 segments received
    1000 segments sent out
    {} segments retransmitted
IpExt:
    InOctets: 5000
"""
EVENT: dict[str, Any] = {
    "kind": "Event",
    "reason": "OOMKilling",
    "message": "Memory cgroup out of memory",
    "involvedObject": {"kind": "Pod", "namespace": "prod", "name": "vllm-0"},
    "firstTimestamp": "2026-08-23T06:00:00Z",
    "lastTimestamp": "2026-08-23T06:14:11Z",
    "count": 3,
}


def one(text: str, reader: Callable[[BinaryIO, Clock], Iterator[Batch]], clock: Clock = CLOCK) -> Batch:
    (batch,) = reader(io.BytesIO(text.encode()), clock)
    assert batch.records == batch.stored + batch.rejects.height
    return batch


def fields(batch: Batch) -> dict[str, float]:
    joined = batch.rows["sample"].join(batch.rows["series"], on="series_no")
    named = joined.filter(pl.col("field").is_not_null())
    values = named.select("field", (pl.col("value") * pl.col("times")).round(6))
    return dict(values.iter_rows())


def test_a_line_of_statistics_without_a_figure_is_a_reject():
    (batch,) = vllm_log.read(io.BytesIO(V1.replace("79.0 tokens", "many").split("/s, ")[0].encode()), CLOCK)
    assert (batch.records, batch.stored) == (1, 0)
    assert batch.rejects.select("line", "reason").rows() == [(1, "no number in it")]


def test_the_statistics_of_vllm_are_read_by_key_and_in_our_units():
    batch = one("INFO: something else\n" + V1, vllm_log.read)
    assert (batch.records, set(batch.rows["sample"]["at"])) == (1, {AT})
    assert fields(batch) == {
        "prefill_tokens_per_s": 79.0,
        "running_requests": 1.0,
        "waiting_requests": 0.0,
        "kv_cache_usage_ratio": 0.004,
        "prefix_hit_ratio": 0.12,
    }
    assert batch.clock == "the year from the time of the file's last change"


def test_the_older_wording_is_read_too():
    found = fields(one(V0, vllm_log.read))
    assert (found["waiting_requests"], found["kv_cache_usage_ratio"]) == (7.0, 0.952)


def test_the_year_is_that_which_brings_the_time_nearest():
    clock = Clock(datetime(2027, 1, 2, tzinfo=UTC))
    batch = one(V1.replace("08-23", "12-31"), vllm_log.read, clock)
    assert set(batch.rows["sample"]["at"]) == {datetime(2026, 12, 31, 8, 14, 11, tzinfo=UTC)}


def test_statistics_without_a_time_are_a_reject():
    batch = one(V1.replace("INFO 08-23 08:14:11", ""), vllm_log.read)
    assert batch.rejects.select("line", "reason").rows() == [(1, "no time before the statistics")]


def test_snapshots_of_netstat_are_counters_of_the_host():
    clock = Clock(AT, 60.0, source="--start")
    batch = one(
        NETSTAT.format(5) + NETSTAT.format(9).replace("retransmitted", "retransmited"), netstat.read, clock
    )
    joined = batch.rows["sample"].join(batch.rows["series"], on="series_no")
    resent = joined.filter(pl.col("field") == "tcp_retransmits").select("at", "value", "is_counter")
    assert resent.rows() == [(AT, 5.0, True), (AT + timedelta(minutes=1), 9.0, True)]
    assert (batch.records, batch.clock) == (8, "--start")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(EVENT),
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [EVENT]}, indent=2),
        json.dumps({"type": "MODIFIED", "object": EVENT}),
    ],
    ids=["event", "list", "watched"],
)
def test_a_kubernetes_event_says_when_what_and_of_whom(text: str):
    batch = one(text + "\n", kubernetes_events.read)
    assert batch.rows["event"].drop("line").rows() == [
        (AT, "OOMKilling", "Pod/prod/vllm-0: Memory cgroup out of memory (3 times)")
    ]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({**EVENT, "reason": ""}, "an event without a reason"),
        ({"reason": "x"}, "an event without a time"),
        ({**EVENT, "lastTimestamp": "then"}, "time is not RFC 3339: then"),
        (7, "no JSON object"),
    ],
)
def test_an_entry_that_is_no_event_is_a_reject(entry: Any, reason: str):
    batch = one(json.dumps({"items": [EVENT, entry]}), kubernetes_events.read)
    assert (batch.stored, batch.rejects["reason"].to_list()) == (1, [reason])


@pytest.mark.parametrize(
    ("text", "known", "stored"),
    [
        (V1, "vllm_log", 1),
        (NETSTAT.format(1), "netstat", 4),
        (json.dumps({"kind": "List", "items": [EVENT]}), "kubernetes_events", 1),
    ],
)
def test_each_is_told_by_its_content(tmp_path: Path, text: str, known: str, stored: int):
    (tmp_path / "a").write_text(text)
    (found,) = survey([str(tmp_path)])
    assert (found.format, sum(batch.stored for batch in read(found))) == (known, stored)


def test_half_a_surrogate_pair_in_an_event_costs_nothing_but_itself():
    text = json.dumps({"reason": "OOM", "message": "a\ud800b", "lastTimestamp": "2026-02-03T11:02:07Z"})
    (batch,) = kubernetes_events.read(io.BytesIO(text.encode()))
    assert (batch.stored, batch.rows["event"]["text"].to_list()) == (1, ["a?b"])


def test_a_number_of_absurd_length_costs_its_document_alone():
    text = f"{json.dumps({**EVENT, 'count': 9})}\n".replace("9}", f"{'9' * 5000}}}") + json.dumps(EVENT)
    batch = one(text, kubernetes_events.read)
    assert (batch.stored, batch.rejects["line"].to_list()) == (1, [1])


@pytest.mark.parametrize(
    "text",
    [json.dumps({"items": [EVENT] * 50}, indent=2), json.dumps([EVENT] * 50), f"{json.dumps(EVENT)}\n" * 50],
    ids=["list", "bare list", "lines"],
)
def test_many_events_are_read_in_several_batches(monkeypatch: pytest.MonkeyPatch, text: str):
    for module in (json_documents, kubernetes_events):
        monkeypatch.setattr(module, "BLOCK", 2000)
    batches = list(kubernetes_events.read(io.BytesIO(text.encode())))
    assert len(batches) > 3
    assert (sum(batch.stored for batch in batches), sum(batch.rejects.height for batch in batches)) == (50, 0)
