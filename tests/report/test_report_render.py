"""The pages: what a reader sees first, what stands where, and that both forms tell the same."""

import html
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from tracemortem.errors import DefinitionError
from tracemortem.findings import Item, Movement, Segment, Tally
from tracemortem.incident import Evidence
from tracemortem.report.render import write

MADE = datetime(2026, 3, 11, 8, 0, tzinfo=UTC)


@pytest.fixture
def written(tmp_path):
    """Writes a report and hands out its Markdown and its HTML."""

    def writes(told, **options):
        write(told.diagnosis, told.rows, tmp_path, product_version="0.1.0", created_at=MADE, **options)
        return (tmp_path / "report.md").read_text("utf-8"), (tmp_path / "report.html").read_text("utf-8")

    return writes


def without_figures(page: str) -> str:
    """The page's own text: figures, packed Plotly, style and pictures taken out."""
    return re.sub(r"<(script|style|svg)\b.*?</\1>", "", page, flags=re.DOTALL)


def unsealed(markdown: str) -> str:
    """The report without the comment that tells people where to write."""
    return re.sub(r"<!-- tracemortem: .* -->\n\n", "", markdown)


def section(markdown: str, title: str) -> str:
    text = re.split(r"^#+ ", markdown.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    return re.sub(r"<!-- yours: .* -->\n\n<!-- /yours -->", "", text).strip()


def test_three_files_are_written(told, tmp_path):
    paths = write(told.diagnosis, told.rows, tmp_path / "out", product_version="0.1.0", created_at=MADE)
    assert paths == [tmp_path / "out" / name for name in ("report.json", "report.md", "report.html")]


def test_the_same_diagnosis_gives_the_same_files(told, tmp_path):
    made = [
        [path.read_bytes() for path in write(
            told.diagnosis, told.rows, tmp_path / name, product_version="0.1.0", created_at=MADE
        )]
        for name in ("first", "second")
    ]  # fmt: skip
    assert made[0] == made[1]


def test_the_first_thing_read_is_what_happened_when_why_from_where_and_whether_it_is_over(told, written):
    assert unsealed(written(told)[0]).split("\n## How it went")[0] == (
        "# clause-desk slowed down: P99 from 1.21 s to 3.79 s\n"
        "\n"
        "## Summary\n"
        "\n"
        "The P99 latency of clause-desk rose from 1.21 s to 3.79 s for 29 min, on 2026-03-11 02:17–02:46 UTC."
        " Prompts of 4,096 tokens or more rose from 5.1 % to 38.4 % of requests two minutes before latency"
        " rose; requests with short prompts slowed as well.\n"
        "\n"
        "| | |\n"
        "|---|---|\n"
        "| When | 2026-03-11 02:17–02:46 UTC (29 min), 10:17 Asia/Shanghai;"
        " it began between 02:15 and 02:17 |\n"
        "| Impact | 4,410 of 6,842 requests slowed, 1,127 clients, 1 h 33 min of extra waiting in all,"
        " 0 errors |\n"
        "| Cause | a surge of long prompts **established** |\n"
        "| Also | a prefix cache evicted by other load **likely**;"
        " saturated GPU memory bandwidth **possible** |\n"
        "| From | `198.51.100.0/26` (46 % of the excess), `203.0.113.64/27` (27 % of the excess),"
        " `2001:db8:40::/48` (17 % of the excess) |\n"
        "| Mitigation | 02:41 prompts over 2,048 tokens went to a queue of their own. **verified** |\n"
    )


def test_an_impact_that_is_not_known_is_not_told_as_zero(told, written):
    impact = replace(
        told.diagnosis.incidents[0].impact, requests_slowed=None, clients=None, excess_seconds=None
    )
    markdown, _ = written(told.with_incident(impact=replace(impact, errors=None)))
    assert "| Impact | 6,842 requests in it; how many were slowed is not known |\n" in markdown


def test_an_incident_still_going_on_says_so(told, written):
    markdown, _ = written(told.with_incident(end=None))
    assert "to 3.79 s, since 2026-03-11 02:17 UTC, and was still high when the data ends." in markdown


def test_in_utc_no_other_clock_is_told(told, written):
    told = replace(told, diagnosis=replace(told.diagnosis, timezone="UTC"))
    assert "| When | 2026-03-11 02:17–02:46 UTC (29 min); it began between" in written(told)[0]


def test_an_event_of_another_day_is_told_with_its_date(told, written):
    entry = replace(told.diagnosis.incidents[0].timeline[0], at=datetime(2026, 3, 10, 23, 50, tzinfo=UTC))
    assert section(written(told.with_incident(timeline=(entry,)))[0], "Timeline").splitlines()[-1] == (
        "| 1 | 2026-03-10 23:50 UTC | deploy: web front end 41.7 | events |"
    )


def test_a_reject_of_a_whole_file_has_no_line(told, written):
    told.rows["rejects"] = told.rows["rejects"].head(1).with_columns(line=None, excerpt=None)
    assert section(written(told)[0], "What could not be read").splitlines()[-1] == (
        "| `otel/spans.jsonl.gz` | not known | the line is not JSON | 3 | not known |"
    )


def test_data_unfit_for_a_conclusion_is_named_on_the_first_screen(told, written):
    unfit = replace(
        told.diagnosis.quality[0], status="fail", text="Clocks jump by 40 s.", limits="Order is lost."
    )
    told = replace(told, diagnosis=replace(told.diagnosis, quality=(unfit,)))
    assert "| Beware | Clocks jump by 40 s. |" in section(written(told)[0], "Summary")


def test_an_incident_that_nothing_explains_says_so(told, written):
    markdown, _ = written(told.with_incident(causes=()))
    assert section(markdown, "Root causes") == (
        "None of the causes that were tested explains this incident."
        " What was tested, and how it fell, is below."
    )


def test_evidence_links_to_the_sql_that_measured_it(told, written):
    markdown, page = written(told)
    assert "| prefix-cache hits | 61.7 % | 91.2 % | [E3](#query-sqlevidencecache_dropsql) |" in markdown
    assert 'id="query-sqlevidencecache_dropsql"' in page
    assert section(markdown, "Query sql/evidence/cache_drop.sql") == (
        "```sql\n-- One row per incident.\nselect incident_id, avg(value) as value\n"
        "from mart.cache_minute\ngroup by 1\n```"
    )


def test_evidence_that_carries_its_own_sql_has_it_shown(told, written):
    own = Evidence("E40", "queue", 3.0, 1.0, "count", "select 3 as value")
    cause = replace(told.diagnosis.incidents[0].causes[0], evidence=(own, replace(own, id="E41")))
    markdown, _ = written(told.with_incident(causes=(cause,)))
    assert section(markdown, "Query E40") == "```sql\nselect 3 as value\n```"
    assert "| queue | 3 | 1 | [E41](#query-e40) |" in markdown


def test_every_link_leads_somewhere(told, written):
    page = written(told)[1]
    assert set(re.findall(r'href="#([^"]*)"', page)) - set(re.findall(r'id="([^"]*)"', page)) == set()


def test_the_ledger_tells_what_it_was_not_by_verdict(told, written):
    markdown, _ = written(told)
    assert re.findall(r"^#+ (.*)$", markdown.split("# What it was not")[1], flags=re.MULTILINE)[:3] == [
        "Ruled out",
        "Not supported",
        "Not testable",
    ]


def test_what_cannot_be_tested_is_told_as_a_limit_of_the_data(told, written):
    assert section(written(told)[0], "What this data cannot show") == (
        "- **with care** GPUs were sampled every 15 s. What happened within 15 s on a GPU cannot be told.\n"
        "- Requests preempted for want of KV blocks cannot be tested: no counter of preemptions was recorded;"
        " vllm:num_preemptions_total would have shown it."
    )


def test_rejects_are_told_with_file_line_and_reason(told, written):
    assert section(written(told)[0], "What could not be read").splitlines()[2:] == [
        "| `otel/spans.jsonl.gz` | 88,121 | the line is not JSON | 3 |"
        ' `{"resourceSpans":[{"resource":{"attri` |',
        "| `nginx/access.log.gz` | 4,012 | the line does not fit the format | 2 |"
        " `` \\x16\\x03\\x01 \\| 400 \\| `-` `` |",
    ]


def test_that_everything_was_read_is_told_too(told, written):
    told.rows["rejects"] = told.rows["rejects"].clear()
    assert section(written(told)[0], "What could not be read") == "Every record was read."


def test_many_rejects_are_cut_short_and_counted(told, written):
    told.rows["rejects"] = pl.concat([told.rows["rejects"]] * 150)
    shown = section(written(told)[0], "What could not be read")
    assert (shown.count("not JSON"), shown.splitlines()[-1]) == (
        25,
        "250 more are in the DuckDB file (`meta.reject`).",
    )


def test_with_nothing_confirmed_the_report_is_calm_and_shows_what_came_near(told, written):
    told = replace(told, diagnosis=replace(told.diagnosis, incidents=told.diagnosis.incidents[1:]))
    assert unsealed(written(told)[0]).split("\n## What this data")[0] == (
        "# No incident confirmed\n"
        "\n"
        "## Incidents\n"
        "\n"
        "From 2026-03-11 00:00 UTC to 2026-03-11 04:00 UTC, no stretch of latency stood out as an incident"
        " does.\n"
        "The nearest, and why they fell short, are below.\n"
        "\n"
        "## Not confirmed\n"
        "\n"
        "### clause-desk, 2026-03-11 00:55–00:58 UTC (3 min), 08:55 Asia/Shanghai\n"
        "\n"
        "P99 from 1.19 s to 1.9 s over 412 requests. It lasted 3 minutes; 5 are needed.\n"
    )


def test_where_nothing_came_near_the_strongest_minutes_are_told_and_how_far_they_were(told, written):
    told = replace(told, diagnosis=replace(told.diagnosis, incidents=()))
    assert section(written(told)[0], "Incidents").splitlines()[-1] == (
        "| chat | 2026-03-11 02:10 UTC | 120 | 1.4 s | 1 s | 1.4 | 1.5 | 0 | 3 |"
    )


def test_a_report_without_a_chart_carries_no_script(told, written):
    told = replace(told, diagnosis=replace(told.diagnosis, incidents=()))
    page = written(told)[1]
    assert ("<script" in page, "script-src 'none'" in page, len(page) < 20_000) == (False, True, True)


def test_several_incidents_are_chapters_under_an_overview(told, written):
    first, candidate = told.diagnosis.incidents
    second = replace(first, id="20260311T0320Z-ember", service="ember")
    told = replace(told, diagnosis=replace(told.diagnosis, incidents=(first, second, candidate)))
    titles = re.findall(r"^##? (.*)$", written(told)[0], flags=re.MULTILINE)
    assert titles == [
        "2 incidents",
        "Incidents",
        "clause-desk slowed down: P99 from 1.21 s to 3.79 s",
        "ember slowed down: P99 from 1.21 s to 3.79 s",
        "Authors and status",
        "Not confirmed",
        "What this data cannot show",
        "Clocks beside each other",
        "What was read",
        "What could not be read",
        "How this was worked out",
    ]


def test_an_incident_shows_only_its_own_rows(told, written):
    other = told.rows["engine_state"].with_columns(incident_id=pl.lit("another"), signal=pl.lit("foreign"))
    told.rows["engine_state"] = pl.concat([told.rows["engine_state"], other])
    assert "foreign" not in written(told)[0]


def test_markdown_and_html_tell_the_same_numbers(told, written):
    markdown, page = written(told)
    text = html.unescape(re.sub(r"<[^>]*>", " ", without_figures(page).split("<main>")[1]))
    body = re.sub(r"\]\(#[^)]*\)", "]", markdown)  # where a link leads is no number that is shown
    body = re.sub(r"<!-- .* -->", "", body)
    numbers = re.compile(r"\d[\d,.:]*\d|\d")
    fences = re.compile(r"^(#+ |\| ?|```.*$)", flags=re.MULTILINE)
    assert sorted(numbers.findall(text)) == sorted(numbers.findall(fences.sub("", body)))


def test_verdicts_are_labels_in_html(told, written):
    page = written(told)[1]
    assert '<strong class="label verdict-likely">likely</strong>' in page
    assert '<strong class="label mitigation-verified">verified</strong>' in page


def test_the_page_stays_small_enough_to_mail(told, written):
    assert len(written(told)[1].encode()) < 2_500_000


def test_the_page_names_no_address_outside_itself(told, written):
    addresses = re.findall(
        r"""(?:src|href|action|data|poster)=["']?([^"'#> ]+)""", without_figures(written(told)[1])
    )
    assert addresses == []


def test_a_stranger_s_string_makes_no_element(told, hostile, written):
    plain, strange = (without_figures(written(one)[1]) for one in (told, hostile))
    assert set(re.findall(r"<(\w+)", strange)) - set(re.findall(r"<(\w+)", plain)) == set()


def test_a_stranger_s_string_is_shown_whole(hostile, written):
    page = written(hostile)[1]
    shown = "<script>alert(1)</script> | `x` [y](javascript:alert(2)) ⟨U+0000⟩⟨U+202E⟩ # z  ***"
    assert f">{html.escape(shown, quote=False)} slowed down: P99 from 1.21 s to 3.79 s</h1>" in page


def test_a_stranger_s_string_moves_no_cell(hostile, written):
    tables = re.findall(r"<table>.*?</table>", written(hostile)[1], flags=re.DOTALL)
    rows = [re.findall(r"<tr>.*?</tr>", table, flags=re.DOTALL) for table in tables]
    assert [len({len(re.findall("<t[dh]", row)) for row in table}) for table in rows] == [1] * len(tables)


def test_a_frame_nobody_gave_is_named(told, written):
    del told.rows["rejects"]
    with pytest.raises(DefinitionError, match="the report has no rows called 'rejects'"):
        written(told)


def test_what_moved_is_told_with_when_it_began_and_the_order_that_can_be_claimed(told, written):
    start = told.diagnosis.incidents[0].start
    moved = Movement(
        "hit_ratio", "prefix-cache hits", "ratio", 0.6, 0.9, -0.33, -0.27, 1e-9, 1e-9, "changed",
        start - timedelta(minutes=1), start + timedelta(minutes=1), "not_resolvable",
    )  # fmt: skip
    same = Movement(
        "sm_clock_mhz", "SM clock", "MHz", 1410, 1410, -3, 3, 0.9, 0.9, "unchanged", None, None, None
    )
    text, _ = written(told.with_incident(movements=(moved, same)))
    first, second = section(text, "What moved and when").splitlines()[-2:]
    begins = f"{moved.onset_earliest:%H:%M}–{moved.onset_latest:%H:%M}"
    assert first == (
        "| prefix-cache hits | 60 % | 90 % | -33 % to -27 % | under 0.1 % | **changed** "
        f"| {begins} | not resolvable |"
    )
    assert second.endswith("| 90 % | **unchanged** | – | – |")


def a_segment(**changes: object) -> Segment:
    plain = Segment(
        "victim", "slowness", (Item("path", "/v1/a|b"), Item("tenant", "<b>x</b>")), 400, 100, 0.25, 0.05,
        5.0, 4.1, 6.2, 90.0, 1e-20, 1e-18, "replica", 1.5, True, 0.1, 0.09, None,
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_requests_that_stand_out_are_told_with_their_tests_and_what_is_mixed_up_with_them(told, written):
    text, page = written(told.with_incident(segments=(a_segment(),)))
    found = section(text, "Which requests stand out").splitlines()
    [row] = [line for line in found if line.startswith("| path")]
    assert row.endswith(
        "| **victim** | slow for what they asked | 100 of 400 | 5 % | 5 (4.1 to 6.2) | 10 % | 9 % |"
    )
    assert found[-1].endswith("5 as often slow as all others, 1.5 among requests of equal replica")
    assert "<b>x</b>" not in without_figures(page)


def test_a_segment_that_nothing_contradicts_has_no_warning(told, written):
    text, _ = written(told.with_incident(segments=(a_segment(is_confounded=False, stratified_ratio=None),)))
    found = section(text, "Which requests stand out").splitlines()
    assert found[-1].startswith("| path")
    assert "Read with care" not in text


def test_a_clock_that_moved_is_named_beside_those_that_are_only_apart(told, written):
    text, _ = written(told)
    still, moved = section(text, "Clocks beside each other").splitlines()[-2:]
    assert still == "| `edge-1` | `gpu-1` | 4,100 | -6.2 ms | -4.9 ms |  |"
    assert moved.endswith("| 3.91 s | 0.02 s | a clock moved meanwhile |")


def test_how_often_chance_was_tried_is_told(told, written):
    tried = Tally(rate=0.05, found=12, signals=20, evidence=2, segments=8100, ranges=2094)
    report, _ = written(told.with_incident(tests=tried))
    assert (
        "For it chance was tried 10,216 times: 20 signals, 2 pieces of evidence, 8,100 kinds of requests and "
        "2,094 address ranges, each of which first pays for all ranges that might have been found in its "
        "place. All are adjusted together (Benjamini and Hochberg): of the 12 that stand, 5 % may be due to "
        "chance."
    ) in section(report, "Chance")


def test_a_report_says_once_from_which_length_on_a_prompt_is_long_and_its_method_why(told, written):
    lengths = told.rows["prompt_lengths"].with_columns(service=pl.Series(["clause-desk", "help"]))
    markdown, _ = written(replace(told, rows={**told.rows, "prompt_lengths": lengths}))
    assert "A prompt is long from 6,300 tokens on." in section(markdown, "How it went")
    assert section(markdown, "From which length on a prompt is long").splitlines()[-2:] == [
        "| `clause-desk` | 6,300 tokens | the lengths part here | 8 % | 2,311 tokens | 17,450 tokens |",
        "| `help` | 4,096 tokens | default, as the lengths have no clear second mode"
        " | 0 % | 850 tokens | - |",
    ]
    assert markdown.count("A prompt is long") == 1


def test_where_no_length_is_known_none_is_called_long(told, written):
    lengths = told.rows["prompt_lengths"].with_columns(pl.lit("clause-desk").alias("service"), counted=0)
    markdown, _ = written(replace(told, rows={**told.rows, "prompt_lengths": lengths}))
    assert "prompt is long" not in markdown
