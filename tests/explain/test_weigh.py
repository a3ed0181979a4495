"""Roles, order, words and the ledger."""

from dataclasses import replace

from tracemortem.explain.hypothesis import Condition, Hypothesis
from tracemortem.explain.signals import Signal, figure
from tracemortem.explain.weigh import judge, told, verdicts

HIT = Signal("cache.hit_ratio", 0.62, 0.91, "ratio 0-1", "prefix-cache hits over look-ups", 1.0)
FALLS = Condition("cache.hit_ratio", "change", "at_most", -0.1)
POLLUTION = Hypothesis(
    kind="cache_pollution",
    question="?",
    claim="hits fell from {cache.hit_ratio.before} to {cache.hit_ratio.now}",
    denial="hits were {cache.hit_ratio.now}",
    needs=("cache.hit_ratio",),
    refuted_when=(Condition("cache.hit_ratio", "change", "at_least", -0.03),),
    supported_when=(FALLS,),
    corroborated_when=(),
    consequence_of=("long_context_surge",),
    samples=(),
)
SURGE = replace(POLLUTION, kind="long_context_surge", consequence_of=())
SIGNALS = {HIT.name: HIT}


def test_a_consequence_contributes_where_its_cause_is_supported():
    causes, _ = verdicts([POLLUTION, SURGE], SIGNALS, {})
    assert [(cause.kind, cause.role) for cause in causes] == [
        ("long_context_surge", "primary"),
        ("cache_pollution", "contributing"),
    ]


def test_a_consequence_is_primary_where_its_cause_is_not_supported():
    causes, _ = verdicts([POLLUTION], SIGNALS, {})
    assert [(cause.kind, cause.role) for cause in causes] == [("cache_pollution", "primary")]


def test_a_claim_states_its_figures():
    causes, _ = verdicts([POLLUTION], SIGNALS, {})
    assert causes[0].text == "hits fell from 91 % to 62 %"


def test_every_figure_links_to_its_sql():
    causes, _ = verdicts([POLLUTION], SIGNALS, {})
    assert [(e.id, e.value, e.baseline, e.unit, e.sql) for e in causes[0].evidence] == [
        ("cache.hit_ratio", 0.62, 0.91, "ratio", "sql/evidence/cache.sql")
    ]


def test_what_is_missing_is_said_with_the_command_that_would_have_recorded_it():
    silent = replace(HIT, value=None, before=None)
    _, ledger = verdicts([POLLUTION], {HIT.name: silent}, {"cache": "Scrape /metrics."})
    assert [(entry.verdict, entry.text) for entry in ledger] == [
        ("not_testable", "Not recorded: prefix-cache hits over look-ups. Scrape /metrics.")
    ]


def test_the_more_corroborations_hold_the_stronger_the_verdict():
    one = replace(POLLUTION, corroborated_when=(FALLS,))
    two = replace(POLLUTION, corroborated_when=(FALLS, FALLS))
    disputed = replace(POLLUTION, corroborated_when=(FALLS, replace(FALLS, limit=-0.5)))
    assert [judge(h, SIGNALS).verdict for h in (POLLUTION, one, two, disputed)] == [
        "possible",
        "likely",
        "established",
        "possible",
    ]


def test_an_unknown_corroboration_neither_helps_nor_harms():
    with_unknown = replace(POLLUTION, corroborated_when=(FALLS, Condition("x.y", "value", "at_least", 1.0)))
    assert judge(with_unknown, SIGNALS).verdict == "likely"


def test_a_known_condition_that_fails_decides_even_where_another_is_unknown():
    strict = replace(
        POLLUTION,
        refuted_when=(),
        supported_when=(replace(FALLS, limit=-0.5), Condition("x.y", "value", "at_least", 1.0)),
    )
    assert judge(strict, SIGNALS).verdict == "not_supported"


def test_a_ratio_to_nothing_is_unknown():
    assert replace(HIT, before=0.0).ratio is None


def test_a_figure_that_was_not_recorded_says_so():
    assert told("{gpu.clock.now} {cache.hit_ratio.before}", SIGNALS) == "not recorded 91 %"


def test_figures_read_as_people_write_them():
    assert [
        figure(0.0003, "ratio 0-1"), figure(0.38, "ratio 0-1"), figure(8742.0, "tokens"), figure(1.2162, "s"),
        figure(2.0, "count"), figure(None, "s"),
    ] == ["0.03 %", "38 %", "8,742 tokens", "1.22 s", "2", "not recorded"]  # fmt: skip
