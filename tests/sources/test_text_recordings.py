"""The recordings in ../shared, read a second time by plain Python: the same counts, the same values."""

import gzip
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import polars as pl
import pytest

from tracemortem.sources.find import Found, survey
from tracemortem.sources.registry import read

INCIDENTS = Path(__file__).resolve().parents[3] / "shared" / "incidents"
RECORDINGS = sorted(path.name for path in INCIDENTS.glob("*/")) if INCIDENTS.is_dir() else []
pytestmark = pytest.mark.skipif(not RECORDINGS, reason="the labelled recordings are not beside this checkout")
LOOKED_AT = 4000


def found(recording: str, folder: str, kind: str) -> Found:
    (file,) = [one for one in survey([str(INCIDENTS / recording / folder)]) if one.kind == kind]
    return file


def raw_lines(file: Found) -> Iterator[str]:
    with gzip.open(file.path, "rt", encoding="utf-8") as text:
        yield from (line.rstrip("\n") for line in text)


@pytest.mark.parametrize("recording", RECORDINGS)
def test_every_line_of_the_access_log_is_a_row(recording: str):
    file = found(recording, "nginx", "access_log")
    counts = [(batch.records, batch.stored, batch.rejects.height) for batch in read(file)]
    lines = sum(1 for _ in raw_lines(file))
    assert [sum(column) for column in zip(*counts, strict=True)] == [lines, lines, 0]


@pytest.mark.parametrize(
    ("recording", "folder"),
    [
        *((recording, "dcgm") for recording in RECORDINGS),
        ("seed_incident", "vllm"),
        ("prefix_cache_disabled", "vllm"),
    ],
)
def test_every_sample_is_stored_and_every_series_known(recording: str, folder: str):
    file = found(recording, folder, "metrics_text")
    lines = [line for line in raw_lines(file) if line and not line.startswith("#")]
    batches = list(read(file))
    series = pl.concat(batch.rows["series"] for batch in batches).filter(
        pl.col("field").is_null() | (pl.col("name") != "vllm:cache_config_info")
    )
    assert sum(batch.stored for batch in batches) == len(lines)
    assert series.height == len({line.rsplit(" ", 2)[0] for line in lines})


def test_access_lines_have_the_values_that_plain_python_reads():
    file = found("seed_incident", "nginx", "access_log")
    pattern = re.compile(
        r'(\S+) - \S+ \[([^\]]+)\] "(\S+) (\S+) [^"]+" (\d+) (\d+) "[^"]*" "([^"]*)" "([^"]*)" '
        r'rt=(\S+) urt="([^"]*)" uaddr="([^"]*)" rid=(\S+)'
    )
    wanted = []
    for number, line in enumerate(islice(raw_lines(file), LOOKED_AT), start=1):
        match = pattern.fullmatch(line)
        assert match is not None
        peer, time, method, path, status, sent, agent, forwarded, took, upstream, address, request = (
            match.groups()
        )
        end = datetime.strptime(time, "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC)
        wanted.append(
            {
                "line": number,
                "started_at": end - timedelta(milliseconds=round(float(took) * 1000)),
                "finished_at": end,
                "duration_s": float(took),
                "upstream_s": None if upstream == "-" else round(sum(map(float, upstream.split(", "))), 6),
                "upstream_attempts": None if address == "-" else len(address.split(", ")),
                "upstream_address": None if address == "-" else address.split(", ")[-1],
                "peer_address": peer,
                "forwarded_for": None if forwarded == "-" else forwarded,
                "method": method,
                "path": path.partition("?")[0],
                "status": int(status),
                "bytes_sent": int(sent),
                "user_agent": None if agent == "-" else agent,
                "request_id": request,
            }
        )
    rows = pl.concat(batch.rows["access"] for batch in read(file)).head(LOOKED_AT)
    assert rows.select(*wanted[0]).to_dicts() == wanted


def labels_of(key: str) -> tuple[str, dict[str, str]]:
    """Name and labels, character by character as the format's description has it."""
    name, brace, rest = key.partition("{")
    labels, position = {}, 0
    while brace and rest[position] != "}":
        equals = rest.index("=", position)
        label, value, position = rest[position:equals], "", equals + 2
        while rest[position] != '"':
            if rest[position] == "\\":
                position += 1
                value += {"n": "\n"}.get(rest[position], rest[position])
            else:
                value += rest[position]
            position += 1
        labels[label] = value
        position += 1 + (rest[position + 1] == ",")
    return name, {label: value for label, value in labels.items() if value}


@pytest.mark.parametrize("folder", ["dcgm", "vllm"])
def test_samples_have_the_values_that_plain_python_reads(folder: str):
    file = found("prefix_cache_disabled", folder, "metrics_text")
    wanted = []
    for number, line in enumerate(islice(raw_lines(file), LOOKED_AT), start=1):
        if not line.startswith("#"):
            key, value, stamp = line.rsplit(" ", 2)
            at = datetime.fromtimestamp(int(stamp) // 1000, UTC) + timedelta(milliseconds=int(stamp) % 1000)
            wanted.append((number, *labels_of(key), at, float(value)))
    batches = list(read(file))
    series = pl.concat(batch.rows["series"] for batch in batches)
    of_its_own = series.filter(pl.col("field").is_null() | (pl.col("name") != "vllm:cache_config_info"))
    rows = pl.concat(batch.rows["sample"] for batch in batches).filter(pl.col("line") <= LOOKED_AT)
    joined = rows.join(of_its_own, on="series_no", maintain_order="left").select(
        "line", "name", "labels", "at", "value"
    )
    given = [
        (line, name, {label["key"]: label["value"] for label in labels}, at, value)
        for line, name, labels, at, value in joined.iter_rows()
    ]
    assert given == wanted


def test_cached_blocks_are_read_out_of_the_labels():
    file = found("prefix_cache_disabled", "vllm", "metrics_text")
    batches = list(read(file))
    series = pl.concat(batch.rows["series"] for batch in batches).filter(name="vllm:cache_config_info")
    samples = pl.concat(batch.rows["sample"] for batch in batches)
    found_values = samples.join(series, on="series_no").group_by("field").agg(pl.col("value").unique().sort())
    lines = [line for line in raw_lines(file) if line.startswith("vllm:cache_config_info{")]
    flags = {float('enable_prefix_caching="True"' in line) for line in lines}
    blocks = {float(match[1]) for line in lines if (match := re.search(r'num_gpu_blocks="(\d+)"', line))}
    assert dict(found_values.iter_rows()) == {
        None: [1.0],
        "gpu_blocks": sorted(blocks),
        "block_size_tokens": [16.0],
        "is_prefix_caching": sorted(flags),
    }
