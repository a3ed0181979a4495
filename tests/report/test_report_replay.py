"""How well the replay agrees, minute by minute, and what its engine model is made of."""

from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest

from tracemortem.findings import Replay
from tracemortem.report.render import write

MADE = datetime(2026, 3, 11, 8, 0, tzinfo=UTC)
REPLAY = Replay(
    status="ranked", text="Too rough for figures.", coverage=0.98, is_cache_told=False,
    law=(0.012, 6e-5, 5e-5, 8e-8, 4e-9), slowest=1.5, step_tokens=2048, running=256, kv_blocks=None,
    block_tokens=16,
)  # fmt: skip


@pytest.fixture
def made(told, tmp_path):
    """Writes a report with this replay; its Markdown and its HTML."""

    def of(replay, minutes=()):
        course = pl.DataFrame(
            [("20260311T0217Z-clause-desk", *minute) for minute in minutes],
            schema=told.rows["replay_course"].schema,
            orient="row",
        )
        shown = told.with_incident(replay=replay)
        rows = {**told.rows, "replay_course": course}
        write(shown.diagnosis, rows, tmp_path, product_version="0.1.0", created_at=MADE)
        return (tmp_path / "report.md").read_text("utf-8"), (tmp_path / "report.html").read_text("utf-8")

    return of


def the_model(markdown):
    return markdown.partition("### The engine model\n")[2].partition("\n### Thresholds")[0].strip()


def the_section(page):
    return page.partition('<section class="replay">')[2].partition("</section>")[0]


def test_recorded_and_replayed_are_drawn_in_one_panel(made):
    minutes = [(datetime(2026, 3, 11, 2, at, tzinfo=UTC), 3.0 + at, 3.5 + at, None) for at in (16, 17, 18)]
    section = the_section(made(REPLAY, minutes)[1])
    assert "P99 by minute, as recorded and as replayed" in section
    assert section.count('<path class="line line-') == 2
    assert "— recorded" in section
    assert "— replayed" in section


def test_after_the_incident_what_would_have_been_is_drawn_beside_what_was(made):
    minutes = [(datetime(2026, 3, 11, 2, at, tzinfo=UTC), 3.0 + at, 3.5 + at, None) for at in (16, 17, 18)]
    after = [(datetime(2026, 3, 11, 2, at, tzinfo=UTC), 1.0, None, 3.0) for at in (52, 53, 54)]
    section = the_section(made(REPLAY, [*minutes, *after])[1])
    assert section.count('<path class="line line-') == 3
    assert "— replayed as if nothing had been mended" in section


def test_without_replayed_minutes_nothing_is_drawn(made):
    assert "<figure" not in the_section(made(REPLAY)[1])


def test_the_model_s_parameters_are_told_with_what_they_rest_on(made):
    assert the_model(made(REPLAY)[0]).splitlines() == [
        "Requests are served first come, first served, by engines that run in steps. Calibrated to the "
        "recorded times of the requests, a step takes",
        "",
        "| For | Time |",
        "|---|---:|",
        "| itself | 12 ms |",
        "| 1,000 tokens of prompt computed in it | 60 ms |",
        "| 100 sequences that decode | 5 ms |",
        "| 1,000,000 tokens of their context | 80 ms |",
        "| 1,000,000 times a token of prompt attends to another | 4 ms |",
        "",
        "and up to 1.5 times as long where a replica was slower than usual for five minutes. Too rough for "
        'figures. How it follows the recording by minute is drawn under "What undoing shows".',
        "",
        "What this model rests on:",
        "",
        "- Of 98 % of the requests replica, token counts and stage times are known; the others are left out.",
        "- It is calibrated to the same requests that it is held against: that it agrees shows that it can "
        "describe this recording, not another one.",
        "- A step computes at most 2,048 tokens and at most 256 requests run at once: settings of this "
        "analysis (`replay_step_tokens`, `replay_running_requests`), not recorded.",
        "- How many KV blocks an engine has is not recorded; nothing recorded shows one full, and none "
        "is ever short of them in the replay. A change that needs more of them would show too small an "
        "effect.",
        "- Cached tokens are inferred from prefill times and the engines' counters. Which blocks of prompts "
        "are the same is not recorded, or the cache's size is not: what one request evicts of another's is "
        "not modelled.",
        "- Requests come when they came. Clients that wait for an answer before they ask again, and those "
        "who repeat, would come at other times.",
    ]


def test_what_a_cache_finds_by_the_hashes_of_blocks_is_told_with_its_size(made):
    known = replace(
        REPLAY, cache_from="blocks", cache_blocks=1200, hits=(0.81, 0.4), kv_tokens=(9000.0, 9500.0)
    )
    assert (
        "- Cached tokens are those that an engine's cache finds. By the hashes of prompts' blocks a cache of "
        "1,200 of them finds 81 % of the prompts' tokens before the incident and 40 % in it, the least "
        "recently used evicted first; where undoing leaves requests out, so is what they evicted; with a "
        "policy it stays evicted."
    ) in the_model(made(known)[0]).splitlines()


def test_without_a_model_there_are_no_parameters(made):
    assert the_model(made(Replay("not_available", "Not available: no spans.", 0.2))[0]) == ""
