"""Roles, order, words and the ledger."""

from dataclasses import replace

import pytest

from tracemortem.explain.hypothesis import Condition, Hypothesis, Place
from tracemortem.explain.signals import Signal, figure
from tracemortem.explain.weigh import citations, judge, told, unexplained, verdicts
from tracemortem.incident import NotCause

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


def test_what_it_needs_and_was_not_measured_makes_it_not_testable_whatever_else_fails_to_support_it():
    slow = Condition("stages.tpot_p50_s", "ratio", "at_least", 1.15)
    hypothesis = replace(POLLUTION, supported_when=(FALLS, slow))
    same = Signal("stages.tpot_p50_s", 0.023, 0.023, "s", "decode time per token", 1.0)
    judged = judge(hypothesis, {same.name: same})
    assert (judged.verdict, judged.missing) == ("not_testable", ("cache.hit_ratio",))


def test_what_is_missing_is_said_with_the_command_that_would_have_recorded_it():
    silent = replace(HIT, value=None, before=None)
    _, ledger = verdicts([POLLUTION], {HIT.name: silent}, {"cache": "Scrape /metrics."})
    assert [(entry.verdict, entry.text) for entry in ledger] == [
        ("not_testable", "Not recorded: prefix-cache hits over look-ups. Scrape /metrics.")
    ]


INSIDE = Place(
    (Condition("stages.engine_rise_share", "value", "at_most", 0.1),),
    "the engines have {stages.engine_rise_share.now} of the rise",
)


def test_where_no_time_was_lost_in_its_place_a_suspicion_is_ruled_out_and_that_is_why():
    outside = Signal("stages.engine_rise_share", 0.04, None, "ratio", "part of the rise", 1.0)
    shown = {**SIGNALS, outside.name: outside}
    _, [cleared] = verdicts([replace(POLLUTION, place=INSIDE)], shown, {})
    assert (cleared.verdict, cleared.text, [one.id for one in cleared.evidence]) == (
        "ruled_out",
        "the engines have 0.04 of the rise",
        ["cache.hit_ratio", "stages.engine_rise_share"],
    )


def test_what_its_own_signals_refute_is_denied_by_them_wherever_the_time_was_lost():
    outside = Signal("stages.engine_rise_share", 0.04, None, "ratio", "part of the rise", 1.0)
    same = replace(HIT, value=0.91)
    _, [cleared] = verdicts([replace(POLLUTION, place=INSIDE)], {HIT.name: same, outside.name: outside}, {})
    assert (cleared.verdict, cleared.text) == ("ruled_out", "hits were 91 %")


def test_a_place_in_which_an_unknown_part_of_the_time_was_lost_refutes_nothing():
    assert judge(replace(POLLUTION, place=INSIDE), SIGNALS).verdict == "possible"


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


def test_tests_of_one_evidence_table_are_one_kind_of_evidence():
    names = ("dose.minutes", "dose.replicas", "x.y")
    tests = {name: Signal(name, 0.001, None, "p", "a test", 1.0) for name in names}
    rare = [Condition(name, "value", "at_most", 0.05) for name in tests]

    def judged(*conditions: Condition) -> tuple[str, int]:
        judgement = judge(replace(POLLUTION, corroborated_when=conditions), {**SIGNALS, **tests})
        return judgement.verdict, judgement.met

    assert judged(rare[0]) == judged(rare[1]) == judged(*rare[:2]) == ("likely", 1)
    assert judged(*rare[:2], FALLS) == judged(*rare) == ("established", 2)


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


def test_a_part_in_brackets_is_left_out_where_a_figure_in_it_was_not_recorded():
    text = "Hits fell to {cache.hit_ratio.now}[; clocks to {gpu.clock.now}][, from {cache.hit_ratio.before}]."
    assert told(text, SIGNALS) == "Hits fell to 62 %, from 91 %."


def test_what_a_hypothesis_cites_and_nobody_measures_is_found():
    odd = replace(
        POLLUTION, claim="{cache.hit_ration.now}", denial="{cache.hit_ratio.during} {cache.hit_ratio"
    )
    assert citations(odd, {"cache.hit_ratio"}) == (
        "cache.hit_ration",
        "{cache.hit_ratio.during}",
        "{cache.hit_ratio",
    )


def test_what_the_place_of_a_hypothesis_cites_and_nobody_measures_is_found():
    cited = citations(replace(POLLUTION, place=INSIDE), {"cache.hit_ratio"})
    assert cited == ("stages.engine_rise_share",)


def test_what_was_recorded_during_but_not_before_is_said_to_be_missing_before():
    late = replace(HIT, before=None)
    _, ledger = verdicts([replace(POLLUTION, needs=())], {HIT.name: late}, {})
    assert ledger[0].text == "Not recorded: prefix-cache hits over look-ups, in the time before."


def test_a_note_in_a_meaning_is_not_read_out_to_those_who_lack_the_signal():
    silent = replace(
        HIT, value=None, before=None, meaning="hits over look-ups; null where nothing was looked up"
    )
    _, ledger = verdicts([POLLUTION], {HIT.name: silent}, {})
    assert ledger[0].text == "Not recorded: hits over look-ups."


def test_one_cure_for_several_missing_signals_is_said_once():
    other = replace(POLLUTION, needs=("cache.hit_ratio", "engine.waiting"), supported_when=())
    _, ledger = verdicts([other], {}, {"cache": "Scrape /metrics.", "engine": "Scrape /metrics."})
    assert ledger[0].text == "Not recorded: cache.hit_ratio; engine.waiting. Scrape /metrics."


@pytest.mark.parametrize(
    ("verdicts_of_others", "text"),
    [
        (
            ("ruled_out", "not_supported"),
            "none of the 2 suspicions explains it, and all of them could be tested.",
        ),
        (
            ("ruled_out", "not_testable"),
            "none of the 2 suspicions explains it; 1 of them could not be tested for want of data.",
        ),
        (("not_testable", "not_testable"), "none of the 2 suspicions could be tested for want of data."),
    ],
)
def test_an_unexplained_spike_says_how_much_was_tested(verdicts_of_others, text):
    cleared = [NotCause("gpu_fault", verdict, "", ()) for verdict in verdicts_of_others]
    assert unexplained(cleared, {}).text == f"The spike is real, but {text}"


def test_a_figure_that_was_not_recorded_says_so():
    assert told("{gpu.clock.now} {cache.hit_ratio.before}", SIGNALS) == "not recorded 91 %"


def test_figures_read_as_people_write_them():
    assert [
        figure(0.0003, "ratio 0-1"), figure(0.38, "ratio 0-1"), figure(8742.0, "tokens"), figure(1.2162, "s"),
        figure(2.0, "count"), figure(None, "s"), figure(0.0136, "s"), figure(0.0, "s"), figure(1.0, "ratio"),
        figure(91.0, "C"), figure(75.0, "1/min"), figure(0.2, "s/1k tokens"),
    ] == [
        "0.03 %", "38 %", "8,742 tokens", "1.22 s", "2", "not recorded", "13.6 ms", "0 s", "1.00",
        "91 °C", "75/min", "0.2 s per 1,000 tokens",
    ]  # fmt: skip
