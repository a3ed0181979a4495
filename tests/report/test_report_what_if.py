"""What policies would have done, as figures, as an order only, and where neither can be told."""

from datetime import UTC, datetime

import pytest

from tracemortem.findings import Forecast, Range, WhatIf
from tracemortem.report.document import checked, document
from tracemortem.report.render import write

MADE = datetime(2026, 3, 11, 8, 0, tzinfo=UTC)


def a_policy(name, **changed):
    told = {
        "policy": name, "title": f"the policy {name}", "status": "quantified", "text": "All are answered.",
        "effort": 1, "assumes": (), "rank": 1, "fit_error": -0.05, "objective_s": 2.0, "keeps": "no",
        "is_cheapest": False, "predicted": None,
    }  # fmt: skip
    return WhatIf(**{**told, **changed})


def a_forecast(seconds, **changed):
    one = Range(seconds, 0.75 * seconds, 1.25 * seconds)
    told = {
        "p50_s": one, "p99_s": one, "short_p50_s": one, "short_p99_s": one, "long_p50_s": None,
        "long_p99_s": None, "before_p99_s": one, "hit_ratio": Range(0.8, 0.7, 0.9), "rejected": 0,
        "rejected_before": 0, "unfit": 0, "elsewhere": 0, "cut": 0, "requests": 1000,
    }  # fmt: skip
    return Forecast(**{**told, **changed})


BLOCK = a_policy(
    "block", text="300 refused.", keeps="yes", is_cheapest=True, assumes=("They stay away.",),
    predicted=a_forecast(1.2, rejected=300),
)  # fmt: skip
CHUNK = a_policy("chunk", rank=2, predicted=a_forecast(4.0))
ISOLATED = a_policy("isolated", status="not_available", text="Not available: no hashes.", rank=None)


@pytest.fixture
def section(told, tmp_path):
    """The section of a report in which these policies were tried."""

    def of(*rows):
        shown = told.with_incident(what_if=rows)
        write(shown.diagnosis, shown.rows, tmp_path, product_version="0.1.0", created_at=MADE)
        _, _, rest = (tmp_path / "report.md").read_text("utf-8").partition("## What would have helped\n")
        return rest.partition("\n## ")[0].strip()

    return of


def test_figures_stand_with_their_ranges_what_is_cheapest_and_what_cannot_be_told(section):
    assert section(BLOCK, CHUNK, ISOLATED).splitlines() == [
        "The recorded requests once more, with a policy in force from the beginning. P99 of those served, "
        "with the range that the calibration, engines a little slower or faster, the prefix cache and the "
        "replay's own error leave.",
        "Each is held to a P99 of at most 2 s: the objective given with `--objective`, else the P99 at "
        "which an incident counts as over.",
        "The cheapest that keeps to it, by the share refused or cut short and then by effort: "
        "**the policy block**. 300 refused.",
        "",
        "| Policy | P99 | From | To | Short | Long | Hits | Keeps it | Requests |",
        "|---|---:|---:|---:|---:|---:|---:|---|---|",
        "| `block`: the policy block | 1.2 s | 0.9 s | 1.5 s | 1.2 s | - | 80 % | yes | 300 refused. |",
        "| `chunk`: the policy chunk | 4 s | 3 s | 5 s | 4 s | - | 80 % | no | All are answered. |",
        "",
        "- `block`: They stay away.",
        "- `isolated`: Not available: no hashes.",
        "",
        "Clients are taken to come when they came: retries, and clients that wait for an answer before they "
        "ask again, would come at other times. What one request evicts of another's from a prefix cache is "
        "not modelled here: where a policy keeps load away, the range tells what as many hits as before "
        "would change.",
    ]


def test_where_none_surely_keeps_the_objective_that_is_said(section):
    assert "counts as over.\nNone of these surely keeps to it.\n" in section(CHUNK)


def test_a_policy_that_serves_nobody_stands_last_and_without_figures(section):
    nobody = a_policy("none", rank=None, keeps=None, predicted=a_forecast(1.0, p99_s=None, short_p99_s=None))
    rows = [line for line in section(nobody, CHUNK).splitlines() if line.startswith("| `")]
    assert rows == [
        "| `chunk`: the policy chunk | 4 s | 3 s | 5 s | 4 s | - | 80 % | no | All are answered. |",
        "| `none`: the policy none | - | - | - | - | - | 80 % | - | All are answered. |",
    ]
    assert section(nobody).splitlines()[6].startswith("| `none`")


def test_where_the_replay_is_rough_there_is_an_order_and_not_one_figure(section):
    rough = {"status": "ranked", "text": "Too rough.", "keeps": None}
    rows = a_policy("chunk", rank=2, **rough), a_policy("block", **rough), ISOLATED
    assert section(*rows).splitlines() == [
        "Which of these would have left the lower P99, the lowest first. Too rough.",
        "",
        "1. the policy block",
        "2. the policy chunk",
    ]


def test_where_nothing_could_be_replayed_the_reason_stands_once(section):
    lost = {"status": "not_available", "text": "Not available: no spans.", "rank": None}
    assert section(a_policy("a", **lost), a_policy("b", **lost)) == (
        "Not available: no spans. What a policy would have done is not told."
    )


def test_an_incident_that_was_not_replayed_has_no_such_section(section):
    assert section() == ""


def test_report_json_tells_figures_with_ranges_and_what_is_not_told_is_empty(told):
    shown = told.with_incident(what_if=(CHUNK, ISOLATED)).diagnosis
    found = checked(document(shown, product_version="0.1.0", created_at=MADE))["incidents"][0]["what_if"]
    middle = {"value": 4.0, "low": 3.0, "high": 5.0}
    assert found == [
        {
            "policy": "chunk", "title": "the policy chunk", "status": "quantified",
            "text": "All are answered.", "effort": 1, "assumes": [], "rank": 2, "fit_error": -0.05,
            "objective_s": 2.0, "keeps": "no", "is_cheapest": False,
            "predicted": {
                "p50_s": middle, "p99_s": middle, "short_p50_s": middle, "short_p99_s": middle,
                "long_p50_s": None, "long_p99_s": None, "before_p99_s": middle,
                "hit_ratio": {"value": 0.8, "low": 0.7, "high": 0.9}, "rejected": 0, "rejected_before": 0,
                "unfit": 0, "elsewhere": 0, "cut": 0, "requests": 1000,
            },
        },
        {
            "policy": "isolated", "title": "the policy isolated", "status": "not_available",
            "text": "Not available: no hashes.", "effort": 1, "assumes": [], "rank": None, "fit_error": -0.05,
            "objective_s": 2.0, "keeps": "no", "is_cheapest": False, "predicted": {},
        },
    ]  # fmt: skip
