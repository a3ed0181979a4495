"""What others say that files of the corpus hold is what we read of them; no such statement is left out."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from google.protobuf import text_format
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tracemortem.errors import InputError
from tracemortem.sources import addresses
from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
HUB = CORPUS / "access_logs" / "crowdsec-hub"
DUCKDB_OTLP = CORPUS / "otlp" / "duckdb-otlp"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside this checkout")

# Every file that says what another is to give -> the test that holds us to it, or why none does
STATEMENTS = {
    "access_logs/beats-nginx/*.expected-condensed.jsonl": "tests/sources/test_access_corpus.py",
    "access_logs/crowdsec-hub/*/parser.assert": "tests/corpus/test_expected_outputs.py",
    "access_logs/crowdsec-hub/*/scenario.assert": "of attacks, not of lines",
    "nvidia_smi/nvidia_gpu_exporter/expected/*.metrics": "tests/sources/test_nvidia_csv.py",
    "otlp/collector-debugexporter/*/*.out": "of inputs that are not there",
    "otlp/duckdb-otlp/expected/*.test": "tests/corpus/test_expected_outputs.py",
    "otlp/holmesgpt-tempo/*.expected.txt": "tests/corpus/test_expected_outputs.py",
    "otlp/openinference-vercel/capture-results.json": "of how it was recorded",
    "otlp/opentelemetry-proto-2024-pb/*.protobuf-text": "tests/corpus/test_expected_outputs.py",
    "prometheus/openmetrics-tests/*/test.json": "tests/corpus/test_openmetrics_cases.py",
}
_STATES = re.compile(r"expect|\.assert$|\.test$|\.out$|/test\.json$|-text$|capture-results", re.IGNORECASE)
_NO_STATEMENT = {
    "anomaly",
    "otlp/fluent-bit/more/test_logs_expect_batch.in.json",  # an input by another name
}
# Logs of the hub that no format of ours reads, or that hold more of something else: they are refused
NOT_READ = {
    "apache-guacamole-logs", "base-upsun-httplog-logs", "bunkerweb-http-malformed",
    "fastly-logs", "haproxy-logs", "iis-xml-logs", "litespeed-logs",
    "nginx-proxy-manager-logs", "nginx_req_limit_exceeded", "npmplus-logs",
    "pfsense-rfc5424-nginx", "zoraxy-http-logs",
}  # fmt: skip
# the rows that are read where a second format, or error lines, stand among them
SECOND_FORMAT = {"apache2-logs": 4, "envoy-logs": 6, "nginx_http-logs": 4}
_FACT = re.compile(
    r'^results\["s01-parse"\]\["([^"]+)"\]\[(\d+)\]\.Evt\.Meta'
    r'\["(http_status|http_verb|source_ip|http_path)"\] == "(.*)"$',
    re.MULTILINE,
)
_COUNTED = re.compile(
    r"^query I+\nSELECT (?:COUNT|count)\(\*\)[^\n]* FROM read_otlp_(traces|logs)\('test/data/([^'*]+)'\);?\n"
    r"----\n(\d+)$",
    re.MULTILINE,
)
Request = tuple[str | None, int | None, str | None, str | None]


def test_every_statement_about_a_file_is_held_against_us_or_says_why_not(repo_root: Path):
    stated = {
        path
        for path in (file.relative_to(CORPUS).as_posix() for file in CORPUS.rglob("*") if file.is_file())
        if _STATES.search(path) and path.partition("/")[0] not in _NO_STATEMENT and path not in _NO_STATEMENT
    }
    covered = {file.relative_to(CORPUS).as_posix() for pattern in STATEMENTS for file in CORPUS.glob(pattern)}
    assert stated == covered
    assert [
        to for to in STATEMENTS.values() if to.startswith("tests/") and not (repo_root / to).exists()
    ] == []


def stated_requests(text: str) -> Iterator[Request]:
    """Address, status, method and path of each request, as the hub states them."""
    of: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for parser, number, key, value in _FACT.findall(text):
        of[parser, number][key] = value
    for facts in of.values():
        method, status = facts.get("http_verb"), facts.get("http_status", "-")
        path = facts["http_path"].partition("?")[0] if method else None  # else it is what is no request
        yield facts["source_ip"], int(status) if status not in {"-", "0"} else None, method, path


def read_requests(log: Path) -> list[Request]:
    (found,) = survey([str(log)])
    rows = pl.concat(batch.rows["access"] for batch in read(found))
    # what Caddy itself takes for the client is, to us, what was forwarded
    named = pl.coalesce("forwarded_for", "peer_address") if found.format == "caddy" else "peer_address"
    chains = rows.select(named).to_series()
    peers = chains.str.split(",").list.last().str.strip_chars()
    canonical = dict(addresses.parse(peers.unique()).select("text", "canonical").rows())
    return [
        (canonical.get(peer), status, method, path)
        for peer, (status, method, path) in zip(
            peers, rows.select("status", "method", "path").iter_rows(), strict=True
        )
    ]


@pytest.mark.parametrize("folder", sorted(HUB.iterdir()) if HUB.is_dir() else [], ids=lambda path: path.name)
def test_requests_are_those_that_the_hub_states(folder: Path):
    statement = folder / "parser.assert"
    stated = Counter(stated_requests(statement.read_text())) if statement.exists() else Counter[Request]()
    (log,) = folder.glob("*.log")
    if folder.name in NOT_READ:
        with pytest.raises(InputError):
            survey([str(log)])
        return
    if not stated:
        return
    found = Counter(read_requests(log))
    assert found - stated == Counter()
    assert found.total() == SECOND_FORMAT.get(folder.name, stated.total())


@pytest.mark.parametrize(
    ("name", "message"), [("trace", TracesData), ("metrics", MetricsData)], ids=["trace", "metrics"]
)
def test_a_message_of_protobuf_gives_what_its_text_says(
    name: str, message: type[TracesData | MetricsData], tmp_path: Path
):
    folder = CORPUS / "otlp" / "opentelemetry-proto-2024-pb"
    text = (folder / f"{name}.protobuf-text").read_text()
    (tmp_path / "from_text").write_bytes(text_format.Parse(text, message()).SerializeToString())
    tables = [
        [batch.rows for batch in read(survey([str(path)])[0])]
        for path in (folder / f"{name}.protobuf-bin", tmp_path / "from_text")
    ]
    assert sum(frame.height for rows in tables[0] for frame in rows.values())
    for rows, others in zip(*tables, strict=True):
        assert all(frame.equals(others[table]) for table, frame in rows.items())


def counts_stated() -> list[tuple[str, str, int]]:
    """Signal, file and rows, where the tests of the DuckDB extension count all of one file."""
    return sorted(
        {
            (signal, file, int(count))
            for path in (DUCKDB_OTLP / "expected").glob("*.test")
            for signal, file, count in _COUNTED.findall(path.read_text())
            if int(count) and (DUCKDB_OTLP / file).is_file()
        }
    )


@pytest.mark.parametrize(("signal", "file", "count"), counts_stated() if CORPUS.is_dir() else [])
def test_records_of_a_file_are_as_many_as_the_extension_of_duckdb_counts(signal: str, file: str, count: int):
    (found,) = survey([str(DUCKDB_OTLP / file)])
    batches = list(read(found))
    rows = sum(batch.rows[{"traces": "span", "logs": "log"}[signal]].height for batch in batches)
    assert rows + sum(batch.rejects.height for batch in batches) == count


def test_spans_of_a_trace_of_tempo_are_those_that_are_drawn_as_a_tree():
    folder = CORPUS / "otlp" / "holmesgpt-tempo"
    (drawn,) = folder.glob("*.expected.txt")
    stated = {
        span: (name, float(ms))
        for name, ms, span in re.findall(
            r"─ (\S+) \(.*?\) - ([\d.]+)ms \(span_id=(\w+)\)", drawn.read_text(encoding="utf-8")
        )
    }
    (found,) = survey([str(folder / "trace_data.input.json")])
    spans = pl.concat(batch.rows["span"] for batch in read(found))
    took_ms = pl.col("duration_s") * 1000
    read_spans = {span: (name, ms) for span, name, ms in spans.select("span_id", "name", took_ms).iter_rows()}
    assert len(stated) > 1
    assert {span: read_spans[span] for span in stated} == {
        span: (name, pytest.approx(ms, abs=0.0051)) for span, (name, ms) in stated.items()
    }
