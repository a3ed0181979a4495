"""Real access logs and request traces, by path: each is read by its format, with every line accounted for."""

import json
from pathlib import Path

import polars as pl
import pytest

from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
LOGS, TRACES = CORPUS / "access_logs", CORPUS / "llm_traces"
pytestmark = pytest.mark.skipif(
    not (LOGS.is_dir() and TRACES.is_dir()), reason="the corpus of real files is not beside this checkout"
)

# path, format, rows, rejects
READ = [
    (LOGS / "beats-haproxy/haproxy.log", "haproxy_http", 11, 0),
    (LOGS / "beats-nginx/test.log", "nginx_combined_chain", 10, 0),
    (LOGS / "beats-nginx-ingress/test.log", "nginx_ingress", 29, 0),
    (LOGS / "crowdsec-hub/apache2-malformed/apache2-logs.log", "nginx_combined", 11, 0),
    (LOGS / "crowdsec-hub/aws-alb-logs/aws-alb-logs.log", "aws_alb", 14, 0),
    (LOGS / "crowdsec-hub/aws-cloudfront-logs/aws-cloudfront-logs.log", "cloudfront", 2, 0),
    (LOGS / "crowdsec-hub/caddy-logs/caddy-logs.log", "caddy", 10, 1),
    (
        LOGS / "crowdsec-hub/envoy-http-crawl-non_statics/envoy-http-crawl-non_statics.log",
        "envoy_json",
        41,
        0,
    ),
    (LOGS / "crowdsec-hub/envoy-logs/envoy.log", "envoy_json", 6, 4),
    (LOGS / "crowdsec-hub/traefik_clf/traefik_clf.log", "traefik_clf", 7, 0),
    (LOGS / "crowdsec-hub/traefik_json/traefik_json.log", "traefik_json", 6, 1),
    (LOGS / "elastic-examples/apache_logs.log", "apache_combined", 9999, 1),
    (LOGS / "lnav/logfile_cloudflare.1", "cloudflare_json", 15, 0),
    (LOGS / "lnav/logfile_cloudflare.json", "cloudflare_json", 1, 0),
    (LOGS / "lnav/logfile_haproxy.0", "haproxy_http", 13, 4),
    (LOGS / "lnav/logfile_shop_access_log.0", "nginx_main", 1000, 0),
    (TRACES / "azure/data/AzureLLMInferenceTrace_code.csv", "azure_llm_trace", 8819, 0),
    (TRACES / "azure/data/AzureLLMInferenceTrace_conv.csv", "azure_llm_trace", 19366, 0),
    (TRACES / "llmservingsim-vllm-bench/RTX4090/Llama-3.1-8B/vllm/requests.jsonl", "vllm_bench", 300, 0),
    (TRACES / "llmservingsim-workloads/workload_me2_01_mixed.jsonl", "llmservingsim_workload", 608, 0),
    (TRACES / "splitwise/traces/test_trace.csv", "splitwise_trace", 3, 0),
    (TRACES / "mooncake/FAST25-release/traces/conversation_trace.jsonl", "mooncake_trace", 12031, 0),
]


@pytest.mark.parametrize(
    ("path", "form", "stored", "rejects"), READ, ids=[str(one[0].relative_to(CORPUS)) for one in READ]
)
def test_a_real_file_is_read_by_its_format(path: Path, form: str, stored: int, rejects: int):
    (found,) = survey([str(path)])
    batches = list(read(found))
    assert all(batch.records == batch.stored + batch.rejects.height for batch in batches)
    counted = (sum(batch.stored for batch in batches), sum(batch.rejects.height for batch in batches))
    assert (found.format, *counted) == (form, stored, rejects)


def test_addresses_status_and_times_are_those_expected_of_nginx():
    path = LOGS / "beats-nginx/test.log"
    (found,) = survey([str(path)])
    (batch,) = read(found)
    expected = [
        json.loads(line) for line in Path(f"{path}.expected-condensed.jsonl").read_text().splitlines()
    ]
    got = batch.rows["access"].select(
        pl.col("finished_at").dt.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "status",
        "bytes_sent",
        "method",
    )
    assert got.rows() == [
        (one["@timestamp"], one["status"], one["bytes"], one.get("method")) for one in expected
    ]


def test_no_request_of_a_benchmark_ends_before_its_first_token():
    (found,) = survey([str(TRACES / "llmservingsim-vllm-bench/RTX4090/Llama-3.1-8B/vllm/requests.jsonl")])
    (batch,) = read(found)
    assert batch.rows["access"].select((pl.col("duration_s") >= pl.col("ttft_s")).all()).item() is True
