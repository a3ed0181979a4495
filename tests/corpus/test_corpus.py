"""Nothing of the corpus is lost silently: a file is read with rows, or refused with a sentence."""

from pathlib import Path

import pytest
from corpus.judged import FAMILIES, Judged, files, judge, page, summary

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"

# Telemetry of a known format in which no record can be read -> why that is right. Cases of OpenMetrics
# that are meant to be wrong are judged one by one in test_openmetrics_cases.
WITHOUT_A_ROW = {
    "duckdb-otlp/malformed.jsonl": "made to be no OTLP",
    "duckdb-otlp/multifile_malformed_traces.jsonl": "its only line is cut off",
    "duckdb-otlp/single_trace.jsonl": "its span has no start",
    "duckdb-otlp/traces_deep_nesting.jsonl": "its span has no start",
    "duckdb-otlp/traces_large_attrs.jsonl": "its span has no start",
    "duckdb-otlp/traces_nulls.jsonl": "its spans have no start",
    "duckdb-otlp/ts_overflow_logs.jsonl": "its time is after the year 2554",
    "jaeger/apiv3/FindTraces.json": "its span has no start",
    "jaeger/apiv3/GetTrace.json": "its span has no start",
    "lnav/logfile_w3c.5": "its line has other fields than its #Fields",
}
CASES = "/openmetrics-tests/"


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside this checkout")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_file_is_read_with_rows_or_refused_with_a_sentence(family: str):
    seen = [judge(path, CORPUS / family) for path in files(CORPUS / family) if CASES not in path.as_posix()]
    assert seen
    assert [file for file in seen if file.records != file.rows + file.rejects] == []
    assert [file for file in seen if bool(file.rows) == bool(file.sentence)] == []
    lost = {file.path for file in seen if file.rejects and not file.rows}
    assert lost == {path for path in WITHOUT_A_ROW if (CORPUS / family / path).is_file()}


def test_the_table_counts_by_format_and_quotes_nothing_of_the_files():
    table = page(
        [
            Judged("otlp", "a", "otlp_json_lines", 1200, 3, 1203),
            Judged("otlp", "b", "otlp_json_lines", 1, 0, 1),
            Judged("otlp", "c", "", sentence="text of no known format; it begins: secret"),
            Judged("otlp", "d", "", sentence="text of no known format; it begins: other"),
            Judged("otlp", "e", "otlp_json_lines", 0, 2, 2, "no startTimeUnixNano: secret"),
        ]
    )
    assert "5 files, of which\n2 are read and 3 are refused" in table
    assert [line for line in table.splitlines() if line.startswith("| otlp")] == [
        "| otlp | otlp_json_lines | 2 | 1,201 | 3 |",
        "| otlp | text of no known format | 2 |",
        "| otlp | taken for otlp_json_lines, but none of its records can be read | 1 |",
    ]


def test_the_readme_says_what_the_page_counts(repo_root: Path):
    said = " ".join((repo_root / "README.md").read_text(encoding="utf-8").split())
    assert summary((repo_root / "docs" / "corpus.md").read_text(encoding="utf-8")) in said


def test_the_summary_adds_up_what_is_called_alike():
    table = page(
        [
            Judged("otlp", "a", "otlp_json_lines", 1200, 3, 1203),
            Judged("jaeger", "b", "otlp_json_documents", 1, 1, 2),
            Judged("access_logs", "c", "nginx_main", 5, 0, 5),
            Judged("access_logs", "d", "", sentence="text of no known format"),
        ]
    )
    assert summary(table) == (
        "Of 4 real files, 3 are read and 1 are refused with a sentence. "
        "Read were OTLP: 2 files, 1,201 rows, 4 rejects; access logs: 1 files, 5 rows, 0 rejects."
    )
