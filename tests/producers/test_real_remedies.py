"""What the report offers to apply is taken by a real nginx and a real promtool, and does what it says."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from tracemortem import folders
from tracemortem.declared import thresholds
from tracemortem.explain.alerts import filled, prompt_bound, read_rules
from tracemortem.findings import Alert
from tracemortem.incident import Source
from tracemortem.report.remedies import alert_rules, rate_limit

CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.err;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {http}
    server {{
        listen 127.0.0.1:{port};
        location / {{ {location} proxy_pass http://127.0.0.1:{live}; }}
    }}
}}
"""


def culprit(cidr: str, usual_per_minute: float) -> Source:
    return Source(cidr, "culprit", 900, None, 0.5, 0.1, "", 0.001, usual_per_minute)


@pytest.fixture
def answers(tmp_path, upstream, port, started, ask):
    """A function: how six requests of 127.0.0.1 are answered by an nginx that limits so, or refuses."""

    def of(limit: str, *, is_refused: bool = False) -> list[int]:
        listens = port()
        wanted = "# if" if is_refused else "# limit_req"
        lines = dict.fromkeys(line.strip("# ") for line in limit.splitlines() if line.startswith(wanted))
        text = CONFIGURATION.format(
            folder=tmp_path, http=limit, location=" ".join(lines), port=listens, live=upstream.server_port
        )
        (tmp_path / "nginx.conf").write_text(text, encoding="utf-8")
        started("nginx", "-p", tmp_path, "-c", tmp_path / "nginx.conf", listens=listens)
        return [ask(listens, b"GET", b"/status/200", b"a") for _ in range(6)]

    return of


def test_a_range_may_send_what_is_usual_and_no_more(answers):
    limit = rate_limit([culprit("127.0.0.0/8", 1.4), culprit("2001:db8::/32", 0.5)], "culprits")
    assert answers(limit) == [200, 200, 200, 429, 429, 429]  # 2 a minute, and as many at once beyond it


def test_a_range_can_be_refused_altogether(answers):
    limit = rate_limit([culprit("127.0.0.0/8", 1.4)], "culprits")
    assert answers(limit, is_refused=True) == [403] * 6


def test_what_two_incidents_ask_for_can_be_applied_together(answers):
    limits = [rate_limit([culprit("127.0.0.0/8", at)], f"culprits_{at:g}") for at in (9.0, 1.0)]
    assert answers("\n".join(limits)) == [200, 200, 429, 429, 429, 429]


def test_who_is_outside_the_ranges_is_not_held_up(answers):
    assert answers(rate_limit([culprit("198.51.100.0/24", 0.0)], "culprits")) == [200] * 6


def fired(rule: str) -> Alert:
    """What would have been found of a declared rule, with its usual level."""
    levels = thresholds(Path(folders.__file__).with_name("thresholds.yaml"))
    (of,) = [one for one in read_rules(folders.definitions("explain", "rules.yaml")) if one.rule == rule]
    assert of.promql
    promql = filled(of.promql, levels[of.level].value, prompt_bound(levels["long_default_tokens"].value))
    return Alert(rule, "fired", None, None, None, of.title, promql, of.hold_minutes)


def bucketed(name: str, before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, str]:
    """Cumulative buckets, and their count, that grow so much a minute for two hours, and then otherwise."""
    grown = {
        f'{name}_bucket{{le="{le}"}}': f"0+{before[le]}x120 {120 * before[le] + after[le]}+{after[le]}x30"
        for le in before
    }
    return grown | {f"{name}_count": grown[f'{name}_bucket{{le="+Inf"}}']}


E2E = "vllm:e2e_request_latency_seconds"
PROMPT = "vllm:request_prompt_tokens"
USUAL = {"1.0": 95, "2.0": 100, "10.0": 100, "+Inf": 100}
# rule -> series that are as usual for two hours, and then not
COURSES = {
    "latency_p99": bucketed(E2E, USUAL, {"1.0": 60, "2.0": 65, "10.0": 100, "+Inf": 100}),
    "gpu_memory_bandwidth": {'DCGM_FI_PROF_DRAM_ACTIVE{gpu="0"}': "0.4x120 0.9x30"},
    "long_context_share": bucketed(PROMPT, {"5000.0": 95, "+Inf": 100}, {"5000.0": 62, "+Inf": 100}),
    "hit_ratio_drop": {
        "vllm:prefix_cache_hits_total": "0+91x120 10982+62x30",
        "vllm:prefix_cache_queries_total": "0+100x120 12100+100x30",
    },
}


def test_every_query_of_a_rule_has_a_course_here():
    rules = read_rules(folders.definitions("explain", "rules.yaml"))
    assert {rule.rule for rule in rules if rule.promql} == set(COURSES)


@pytest.mark.parametrize("rule", COURSES)
def test_an_alert_fires_when_things_change_and_not_before(tmp_path: Path, promtool, rule: str):
    (tmp_path / "rules.yaml").write_text(alert_rules([fired(rule)], "chat"), encoding="utf-8")
    promtool("check", "rules", "rules.yaml")
    (of,) = yaml.safe_load(alert_rules([fired(rule)], "chat"))["groups"][0]["rules"]
    firing = {"exp_labels": {}, "exp_annotations": of["annotations"]}

    def expected(at: str, alerts: Sequence[object]) -> dict[str, object]:
        return {"eval_time": at, "alertname": of["alert"], "exp_alerts": alerts}

    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in COURSES[rule].items()],
        "alert_rule_test": [expected("119m", []), expected("135m", [firing])],
    }
    cases = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [case]}
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump(cases), encoding="utf-8")
    promtool("test", "rules", "cases.yaml")
