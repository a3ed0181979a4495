"""What cannot be read and is known nevertheless is told for what it is, and stands in no reader's way."""

import gzip
from pathlib import Path

import pytest

from tracemortem.errors import InputError
from tracemortem.sources import recognise_metrics, recognise_traces, refused
from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

SAMPLES = [(kind.name, sample) for kind in refused.kinds() for sample in kind.samples]
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
OF_CORPUS = {
    "llm_traces/servegen/language/m-mid/chunk-9-trace.csv": "servegen_rates",
    "llm_traces/servegen/language/m-small/chunk-21-trace.csv": "servegen_rates",
    "llm_traces/servegen/reason/deepseek-r1/chunk-1-dataset.json": "servegen_lengths",
    "llm_traces/vidur/data/processed_traces/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv": (
        "token_counts"
    ),
    "llm_traces/azure/AzureLLMInferenceDataset2023.md": "markdown",
    "access_logs/crowdsec-hub/nginx_req_limit_exceeded/nginx_req_limit_exceeded.log": "nginx_error_log",
    "access_logs/crowdsec-hub/iis-xml-logs/iis-logs.log": "windows_event",
    "access_logs/crowdsec-hub/nginx_http-logs/config.yaml": "settings",
    "otlp/collector-debugexporter/profiles/two_profiles.out": "otlp_debug_text",
    "otlp/opentelemetry-proto-2024-pb/trace.protobuf-text": "otlp_text_format",
    "otlp/jaeger/apiv3/GetServices.json": "jaeger_names",
    "otlp/jaeger/elasticsearch/tracestore/core/fixtures/query_02.json": "elasticsearch_query",
    "nvidia_smi/nvidia_gpu_exporter/fields.txt": "nvidia_smi_help",
}


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_a_sample_is_told_for_its_kind_alone_with_what_to_give_instead(
    name: str, sample: str, tmp_path: Path
) -> None:
    assert [kind.name for kind in refused.kinds() if kind.begins.search(sample)] == [name]
    given = tmp_path / "given.gz"
    given.write_bytes(gzip.compress((sample + "\n").encode()))
    with pytest.raises(InputError) as refusal:
        survey([str(given)])
    kind = next(kind for kind in refused.kinds() if kind.name == name)
    assert (refusal.value.why, refusal.value.fix) == (kind.what, kind.fix)


def test_a_log_that_a_format_reads_is_read_whatever_its_first_line_is(tmp_path: Path) -> None:
    line = '203.0.113.7 - - [24/Apr/2026:02:17:00 +0000] "GET /v1/models HTTP/1.1" 200 2 "-" "curl/8.5.0"\n'
    failed = "2026/04/24 02:17:00 [error] 7#7: *1 upstream timed out\n"
    log = tmp_path / "mixed.log"
    log.write_text(failed + 3 * line, encoding="utf-8")
    (found,) = survey([str(log)])
    assert (found.kind, found.format) == ("access_log", "nginx_combined")


def test_a_log_of_a_bad_night_is_read_though_most_of_its_lines_are_errors(tmp_path: Path) -> None:
    line = '203.0.113.7 - - [24/Apr/2026:02:17:00 +0000] "GET /v1/models HTTP/1.1" 504 2 "-" "curl/8.5.0"\n'
    failed = "2026/04/24 02:17:00 [error] 7#7: *1 upstream timed out (110: Connection timed out)\n"
    log = tmp_path / "mixed.log"
    log.write_text((3 * failed + line) * 9, encoding="utf-8")
    (found,) = survey([str(log)])
    assert (found.format, found.reason.rpartition(" reads ")[2]) == (
        "nginx_combined",
        "9 of the first 9 lines",
    )
    batches = list(read(found))
    assert (sum(b.stored for b in batches), sum(b.rejects.height for b in batches)) == (9, 27)


def test_what_a_reader_would_take_is_asked_early_and_nothing_else_is() -> None:
    def is_taken(sample: str) -> bool:
        lines = [line for line in sample.splitlines() if line]
        return bool(recognise_metrics.tell(lines, sample) or recognise_traces.tell(sample))

    assert {name for name, sample in SAMPLES if is_taken(sample)} == {
        kind.name for kind in refused.kinds() if kind.is_early
    }


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside this checkout")
@pytest.mark.parametrize(("path", "name"), OF_CORPUS.items())
def test_a_real_file_that_is_no_telemetry_is_told_for_what_it_is(path: str, name: str) -> None:
    with pytest.raises(InputError) as refusal:
        survey([str(CORPUS / path)])
    assert refusal.value.why == next(kind.what for kind in refused.kinds() if kind.name == name)
