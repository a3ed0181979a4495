"""Scrapes of dcgm-exporter, one after another, into samples.

python tests/bench/prometheus_text.py METHOD FILE
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from inputs import dcgm_text
from measure import Cost
from methods import Method, compared, program, rows, run

SAMPLES = 500_000
_SAMPLES_OF = -4  # the column of the number of samples in what promtool prints of each block


def load(file: Path, scratch: Path) -> str:
    """The product, up to typed rows."""
    import ours

    database = ours.load(file, scratch / "x.duckdb")
    return rows(*ours.one(database, "select count(*), round(sum(value)) from raw.sample"))


def ingest(file: Path, scratch: Path) -> str:
    """The product's whole command."""
    import ours

    [count] = ours.one(ours.ingest(file, scratch / "x.duckdb"), "select sum(rows) from meta.input")
    return f"{count} rows"


def promtool(file: Path, scratch: Path) -> str:
    """Prometheus's own way into its blocks, of the same samples in OpenMetrics."""
    said = program(
        "promtool", "tsdb", "create-blocks-from", "openmetrics", file.with_name("dcgm.openmetrics"), scratch
    )
    samples = sum(int(line.split()[_SAMPLES_OF]) for line in said.splitlines()[1:])
    return f"{samples} samples in blocks"


def client_parser(file: Path, scratch: Path) -> str:
    """The parser of prometheus_client, scrape after scrape as one text; nothing is stored."""
    from prometheus_client.parser import text_fd_to_metric_families

    count, total = 0, 0.0
    with file.open(encoding="utf-8") as lines:
        for family in text_fd_to_metric_families(lines):
            for sample in family.samples:
                count, total = count + 1, total + sample.value
    return rows(count, float(round(total)))


METHODS: Mapping[str, Method] = {
    "tracemortem rows": load,
    "tracemortem ingest": ingest,
    "promtool": promtool,
    "prometheus_client": client_parser,
}


def written(folder: Path, samples: int = SAMPLES) -> Path:
    """The scrapes; the same as OpenMetrics, which promtool wants, lie beside them."""
    (folder / "dcgm").mkdir()
    file = folder / "dcgm" / "dcgm.prom"
    dcgm_text(file, samples)
    dcgm_text(file.with_name("dcgm.openmetrics"), samples, is_openmetrics=True)
    return file


def costs(file: Path, runs: int) -> list[Cost]:
    """A row a method."""
    return compared(__file__, METHODS, file, runs)


if __name__ == "__main__":
    run(METHODS, *sys.argv[1:])
