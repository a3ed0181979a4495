"""docs/what-to-save.md: its commands run, what they write is read, and the causes it names are so."""

import os
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
import yaml

from tracemortem import folders
from tracemortem.explain.hypothesis import read_all
from tracemortem.settings import Settings
from tracemortem.sources.clock import Told
from tracemortem.sources.find import survey
from tracemortem.sources.log_format import compiled, directives
from tracemortem.sources.records import record
from tracemortem.sources.registry import read
from tracemortem.steps import opened

# row of the table -> the evidence tables that come of what it saves
EVIDENCE = {
    "1": set[str](),
    "2": {"errors"},
    "3": {
        "long_context",
        "dose",
        "outputs",
        "traffic",
        "mix",
        "stages",
        "pace",
        "clocks",
        "replicas",
        "errors",
    },
    "4a": {"cache", "engine"},
    "4b": {"gpu_clock", "gpu_fault", "memory_bandwidth"},
    "5": set[str](),
}
NEVER_SAVED = {"usual", "control"}  # of other days, and of everything that is there anyway

# What the commands of the page would print. None of them runs here: no cluster, no GPU, no server.
STAND_INS: Mapping[str, str] = {
    "sleep": "",
    "seq": "echo 1; echo 2",
    "timeout": 'shift; exec "$@"',
    "netstat": "printf 'Tcp:\\n    %s segments sent out\\n    3 segments retransmitted\\n' 900",
    "kubectl": """
        case "$*" in
        *events*) echo '{"kind": "List", "items": [{"involvedObject": {"kind": "Pod", "namespace": "default",
            "name": "engine-0"}, "reason": "OOMKilling", "message": "killed",
            "lastTimestamp": "2026-02-03T02:17:40Z"}]}' ;;
        *pods*) echo pod/engine-0 ;;
        *--previous*) echo 'Error from server (BadRequest): no previous run' >&2; exit 1 ;;
        *logs*) echo '2026-02-03T02:17:41.1Z (APIServer pid=1) INFO 02-03 02:17:41 [loggers.py:127]' \\
                'Engine 000: Avg prompt throughput: 10.0 tokens/s,' \\
                'Avg generation throughput: 2.0 tokens/s, Running: 3 reqs,' \\
                'Waiting: 0 reqs, GPU KV cache usage: 7.1%, Prefix cache hit rate: 61.0%'
            echo '2026-02-03T02:17:41.2Z (APIServer pid=1) INFO:     10.0.0.7:53162 -' \\
                '"POST /v1/completions HTTP/1.1" 200 OK'
            echo '2026-02-03T02:17:41.3Z (APIServer pid=1) INFO 02-03 02:17:41 [api_server.py:9] ready' ;;
        esac""",
    "nvidia-smi": """
        declare -A shown=([timestamp]='2026/02/03 02:17:41.123' [index]=0 [uuid]=GPU-1a [name]='NVIDIA H100'
            [utilization.gpu]='97 %' [memory.used]='9 MiB' [temperature.gpu]=71 [power.draw]='631.95 W'
            [clocks.sm]='1980 MHz' [clocks.mem]='2619 MHz' [clocks_event_reasons.active]=0x0000000000000004
            [ecc.errors.uncorrected.volatile.total]=0)
        asked=${1#--query-gpu=}; echo "${asked//,/, }"; row=
        for property in ${asked//,/ }; do row+=", ${shown[$property]:?}"; done; echo "${row#, }" """,
    "dcgmi": """
        declare -A short=([203]=GPUTL [155]=POWER [150]=TMPTR [100]=SMCLK [1002]=SMACT [1004]=TENSO
            [1005]=DRAMA)
        head='#Entity '; row='GPU 0 '
        for field in ${3//,/ }; do head+=" ${short[$field]:?}"; row+=' 0.5'; done
        echo "$head"; echo 'ID'; echo "$row"; echo "$row" """,
    "cp": """
        line='203.0.113.9 [2026-02-03T02:17:41+00:00] "POST /v1/completions HTTP/1.1" 200 12 rt=2.5 '
        line+='up=10.0.0.7:8000 uht=0.5 urt=2.4 xff="198.51.100.7" ua="curl" id=1a'
        case "${*: -1}" in
        logs/) echo "$line" > logs/access.log; echo "${line//:41/:40}" > logs/access.log.1 ;;
        traces/) echo '{"resourceSpans": [{"scopeSpans": [{"spans": [{
            "traceId": "5b8efff798038103d269b633813fc60c",
            "spanId": "eee19b7ec3c1b174", "name": "llm_request", "startTimeUnixNano": "1770085061000000000",
            "endTimeUnixNano": "1770085062000000000"}]}]}]}' | tr -d '\\n' > traces/telemetry.json ;;
        esac""",
    "nginx": 'cat "$NGINX_CONFIGURATION"',
    "curl": """
        case "$*" in
        */api/traces*) echo '{"data": [{"traceID": "1a", "spans": [{"traceID": "1a", "spanID": "2b",
            "operationName": "POST", "references": [], "startTime": 1770085061000000, "duration": 9,
            "tags": [], "processID": "p1"}], "processes": {"p1": {"serviceName": "gateway"}}}]}' ;;
        */query_range*) found=; all=$*; names=${all#*=~}; names=${names//[\\"\\}]/}
            for name in ${names//|/ }; do
                found+=',{"metric":{"__name__":"'$name'"},"values":[[1770085061,"1"],[1770085076,"2"]]}'
            done
            echo '{"status":"success","data":{"resultType":"matrix","result":['"${found#,}"']}}' ;;
        */metrics*) echo '# TYPE vllm:num_requests_running gauge'; echo 'vllm:num_requests_running 3' ;;
        esac""",
}
READ_AS = {
    "events.jsonl": "events_json_lines",
    "logs/access.log": "nginx:llm",
    "logs/access.log.1": "nginx:llm",
    "logs/engine-0.access.log": "uvicorn",
    "logs/engine-0.stats.log": "vllm_log",
    "logs/nginx.conf": "nginx log_format llm",
    "metrics/dcgm.json.gz": "prometheus_json",
    "metrics/engine-0-START.prom": "prometheus_text",
    "metrics/node.json.gz": "prometheus_json",
    "metrics/sglang.json.gz": "prometheus_json",
    "metrics/tgi.json.gz": "prometheus_json",
    "metrics/vllm.json.gz": "prometheus_json",
    "now/dcgmi-START.txt": "dcgmi_dmon",
    "now/events.json": "kubernetes_events",
    "now/gpu-once.csv": "nvidia_smi_csv",
    "now/gpu.csv": "nvidia_smi_csv",
    "now/netstat-START.txt": "netstat",
    "traces/jaeger-gateway.json.gz": "jaeger_json",
    "traces/jaeger-vllm.json.gz": "jaeger_json",
    "traces/telemetry.json": "otlp_json_lines",
}


@pytest.fixture(scope="module")
def page(repo_root: Path) -> str:
    return (repo_root / "docs" / "what-to-save.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def saved(page: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all commands of the page fill, one after another in one shell."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "bin").mkdir()
    for name, prints in STAND_INS.items():
        program = folder / "bin" / name
        program.write_text(f"#!/bin/bash\nset -u\n{prints}\n")
        program.chmod(0o755)
    (folder / "nginx.conf").write_text("".join(blocks(page, "nginx")))
    done = subprocess.run(
        ["bash", "-c", "\n".join(["set -eu", *blocks(page, "sh"), "wait"])],
        cwd=folder,
        env={
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "NGINX_CONFIGURATION": str(folder / "nginx.conf"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return folder / "incident"


def test_what_the_commands_write_is_read_without_a_reject(saved: Path):
    formats, empty, rejects = {}, [], []
    for found in survey([str(saved)]):
        formats[re.sub(r"\d{8}T\d{6}Z", "START", found.shown)] = found.format
        read_batches = list(read(found, Told(every_s=10.0)))
        if found.kind != "log_format" and not sum(batch.stored for batch in read_batches):
            empty.append(found.shown)
        rejects += [(found.shown, row) for batch in read_batches for row in batch.rejects.rows()]
    assert (formats, empty, rejects) == (READ_AS, [], [])


def names_asked(saved: Path, group: str) -> set[str]:
    """The metrics for which Prometheus was asked; a counter without its _total, as records name it."""
    [found] = survey([str(saved / "metrics" / f"{group}.json.gz")])
    series = pl.concat(batch.rows["series"] for batch in read(found))
    return {name.removesuffix("_total") for name in series["name"]}


@pytest.mark.parametrize(
    ("group", "records", "prefix"),
    [
        ("vllm", "engine_sample", "vllm:"),
        ("sglang", "engine_sample", "sglang:"),
        ("tgi", "engine_sample", "tgi_"),
        ("dcgm", "gpu_sample", "DCGM_"),
        ("node", "host_sample", "node_"),
    ],
)
def test_each_figure_of_a_group_is_asked_for_and_nothing_that_is_not_one(
    saved: Path, group: str, records: str, prefix: str
):
    asked = names_asked(saved, group)
    of_column = {
        name: {alias.removesuffix("_total") for alias, _ in column.aliases if alias.startswith(prefix)}
        for name, column in record(records).items()
    }
    in_use = {name: {one for one in known if ":log." not in one} for name, known in of_column.items()}
    superseded = {"prefill_tokens_per_s", "prefix_hit_ratio"} if group == "vllm" else set()  # gauges of V0
    assert asked - set().union(*in_use.values()) == set()
    assert {name for name, known in in_use.items() if known and not known & asked} == superseded


def test_the_causes_that_a_row_makes_testable_are_those_that_turn_on_its_evidence(page: str):
    rows = dict(re.findall(r"^\| (\d[ab]?) \|(?:[^|]*\|){2}([^|]*)\|$", page, re.MULTILINE))
    turns_on = {
        hypothesis.kind: {
            name.partition(".")[0]
            for name in (*hypothesis.needs, *(condition.signal for condition in hypothesis.supported_when))
        }
        for hypothesis in read_all(
            folders.definitions("explain", "hypotheses"), opened.values(Settings(inputs=()))
        )
    }
    assert {row: set(re.findall(r"`(\w+)`", told)) for row, told in rows.items()} == {
        row: {kind for kind, tables in turns_on.items() if tables & own} for row, own in EVIDENCE.items()
    }


def test_every_evidence_table_comes_of_something_that_is_saved():
    recorders = yaml.safe_load(folders.definitions("explain", "recorders.yaml").read_text())
    assert set().union(*EVIDENCE.values()) | NEVER_SAVED == set(recorders)


def test_the_log_format_of_the_page_gives_what_tells_a_slow_upstream(page: str):
    [directive] = directives("".join(blocks(page, "nginx")))
    form = compiled(directive)
    assert not isinstance(form, str)
    assert {"finished_at", "duration_s", "ttft_s", "upstream_s", "upstream_address", "peer_address"} <= set(
        form.columns
    )


def test_the_settings_of_the_collector_keep_what_was_written_before_a_restart(page: str):
    [settings] = map(yaml.safe_load, blocks(page, "yaml"))
    assert settings["exporters"]["file"]["append"] is True
    assert {signal: of["exporters"] for signal, of in settings["service"]["pipelines"].items()} == {
        "traces": ["file"],
        "metrics": ["file"],
        "logs": ["file"],
    }


def test_the_first_of_the_samples_without_a_time_is_placed_by_the_name_of_its_file(saved: Path):
    [path] = (saved / "now").glob("dcgmi-*.txt")
    [found] = survey([str(path)])
    [batch] = read(found, Told(every_s=10.0))
    start = datetime.strptime(path.stem.removeprefix("dcgmi-"), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert [(at - start).total_seconds() for at in batch.rows["sample"]["at"].unique().sort()] == [0.0, 10.0]
