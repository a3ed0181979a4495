"""Which policy is called the cheapest, and what is kept back where the replay is rough."""

from dataclasses import replace

import pytest

from tracemortem.findings import Forecast, Range, WhatIf
from tracemortem.steps.what_if import ranked, sentence, with_cheapest


def tried(name, p99_s, *, effort=1, rejected=0, cut=0, elsewhere=0, keeps="yes"):
    p99 = Range(p99_s, p99_s / 2, p99_s * 2)
    predicted = Forecast(
        p50_s=p99, p99_s=p99, short_p50_s=p99, short_p99_s=p99, long_p50_s=None, long_p99_s=None,
        before_p99_s=p99, hit_ratio=None, rejected=rejected, rejected_before=0, unfit=0, elsewhere=elsewhere,
        cut=cut, requests=1000,
    )  # fmt: skip
    return WhatIf(
        policy=name, title=name, status="quantified", text="", effort=effort, assumes=(), rank=None,
        fit_error=0.1, objective_s=2.0, keeps=keeps, is_cheapest=False, predicted=predicted,
    )  # fmt: skip


def cheapest(*rows):
    return [one.policy for one in with_cheapest(rows) if one.is_cheapest]


BLOCK = tried("block", 0.5, rejected=380)
BUY = tried("buy", 0.9, effort=3)


def test_a_policy_that_refuses_many_is_not_cheap_however_little_effort_it_is():
    assert cheapest(BLOCK, BUY) == ["buy"]


def test_a_policy_that_cuts_many_answers_is_not_cheap_either():
    assert cheapest(tried("cap", 0.5, cut=380), BUY) == ["buy"]


@pytest.mark.parametrize(("rejected", "wanted"), [(4, "queue"), (6, "buy")])
def test_of_policies_that_refuse_the_same_percent_the_least_effort_is_cheapest(rejected, wanted):
    assert cheapest(tried("queue", 0.5, rejected=rejected), BUY) == [wanted]


def test_of_equals_the_one_that_answers_more_itself_is_cheapest():
    assert cheapest(tried("a", 0.5, elsewhere=9), tried("b", 0.9)) == ["b"]


@pytest.mark.parametrize("keeps", ["perhaps", "no", None])
def test_what_does_not_surely_keep_the_objective_is_not_the_cheapest(keeps):
    assert cheapest(tried("a", 0.5, keeps=keeps)) == []


def test_ranks_go_by_the_predicted_p99_and_leave_out_what_is_not_available():
    lost = replace(BUY, policy="lost", status="not_available", predicted=None, keeps=None)
    rows = with_cheapest([BUY, lost, BLOCK])
    assert [(one.policy, one.rank) for one in rows] == [("buy", 2), ("lost", None), ("block", 1)]


def test_an_order_without_figures_goes_by_the_p99s_and_equals_by_their_names():
    rows = [replace(one, status="ranked", predicted=None, keeps=None) for one in (BUY, BLOCK)]
    assert [(one.policy, one.rank) for one in ranked(rows, {"buy": 0.9, "block": 0.9})] == [
        ("buy", 2),
        ("block", 1),
    ]
    assert [one.rank for one in ranked(rows, {"buy": 0.9})] == [1, None]


def test_who_is_not_answered_is_told_apart_by_why():
    predicted = tried("a", 0.5, rejected=380, cut=12, elsewhere=5).predicted
    assert sentence(predicted) == (
        "380 of 1,000 requests (38.0 %) refused; 5 of 1,000 requests (0.5 %) answered otherwise; "
        "12 of 1,000 requests (1.2 %) cut short."
    )
    assert sentence(replace(predicted, rejected=0, cut=0, elsewhere=0, rejected_before=7, unfit=3)) == (
        "7 refused in the baseline; 3 of 1,000 requests fit in no engine even without it."
    )
    assert sentence(tried("a", 0.5).predicted) == "All requests are answered."
