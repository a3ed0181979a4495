"""Every metrics file of the corpus is read whole, or is refused with a sentence that says what it is."""

from pathlib import Path

import pytest

from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
# what is refused -> as what; the rest is read
REFUSED = {
    "etc__default-counters.csv": "dcgm_counters",
    "etc__dcp-metrics-included.csv": "dcgm_counters",
    "tests__integration__testdata__default-counters.csv": "dcgm_counters",
    "etc__1.x-compatibility-metrics.csv": "dcgm_counters",
    "README.md": "nvidia_gpu_capture",
    "fields.txt": "nvidia_smi_help",
    "dump-series-1.prom": "tsdb_series",
    "dump-series-2.prom": "tsdb_series",
    "dump-series-3.prom": "tsdb_series",
    "json2": "unknown",
    "json2_bad": "unknown",
    "protobuf": "unknown",
    "protobuf-multimessage": "unknown",
    "protobuf.gz": "unknown",
}
FOLDERS = (
    "dcgm",
    "nvidia_smi",
    "llm_metrics",
    "prometheus/promtool",
    "prometheus/prometheus-common",
    "prometheus/prometheus-textparse",
)
# Run:ai wrote a table of nvidia-smi or a line about the slices before the samples of these
WITH_A_PREFACE = "runai-mig"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside this checkout")
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_is_read_whole_or_refused_as_what_it_is(folder: str):
    for found in survey([str(CORPUS / folder)]):
        as_what = REFUSED.get(found.path.name)
        if "__nvidia-" in found.path.name and found.path.suffix == ".txt":
            as_what = "nvidia_gpu_capture"
        if as_what is not None:
            assert (found.shown, found.kind, found.format) == (found.shown, "skipped", as_what)
            continue
        batches = list(read(found))
        stored = sum(batch.stored for batch in batches)
        rejects = sum(batch.rejects.height for batch in batches)
        assert sum(batch.records for batch in batches) == stored + rejects
        assert stored, found.shown
        assert not rejects or WITH_A_PREFACE in found.shown, found.shown
