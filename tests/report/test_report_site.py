"""The page of all days and incidents: what stands in it, in what order, and what a stranger's string does."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from html import unescape

import pytest

from tracemortem.report.site import Day, Listed, index

MADE = datetime(2026, 3, 14, 8, 0, tzinfo=UTC)
DAYS = (Day(date(2026, 3, 10), 24), Day(date(2026, 3, 11), 4), Day(date(2026, 3, 13), 0))


@pytest.fixture
def made(told):
    """The page of the made-up diagnosis, with a page for each incident."""

    def of(diagnosis=told.diagnosis, days=DAYS, unread=0):
        listed = [Listed(one, f"incidents/{n}.html") for n, one in enumerate(diagnosis.incidents)]
        return index(
            diagnosis, days, listed, told.rows, unread=unread, product_version="0.1.0", created_at=MADE
        ).decode()

    return of


def links(page: str) -> list[str]:
    return re.findall(r'href="(incidents/[^"]*)"', page)


def state(page: str, number: int) -> str:
    """How the calendar shows the day of that number in March: its class and what is said of it."""
    found = re.search(rf'<td class="(\w+)" title="(2026-03-{number:02}: [^"]*)"', page)
    return f"{found[1]} {found[2]}"


def moved(told, **changes):
    """The diagnosis with its confirmed incident alone, changed."""
    first = replace(told.diagnosis.incidents[0], **changes)
    return replace(told.diagnosis, incidents=(first,))


def test_an_incident_is_told_in_one_line(made):
    row = re.search(r'<tr id="incident-1".*?</tr>', made(), re.DOTALL)[0]
    text = " ".join(unescape(re.sub(r"<svg.*?</svg>|<[^>]+>", " ", row, flags=re.DOTALL)).split())
    assert text == (
        "2026-03-11 10:17–10:46 29 min, 2026-03-11 02:17–02:46 UTC clause-desk 1.21 s → 3.79 s "
        "a surge of long prompts established"
    )
    assert '<svg class="drawing"' in row


def test_what_is_confirmed_comes_before_what_is_not_and_the_newest_first(told, made):
    first = told.diagnosis.incidents[0]
    earlier = replace(first, id="earlier", start=first.start - timedelta(hours=5))
    page = made(replace(told.diagnosis, incidents=(earlier, *told.diagnosis.incidents)))
    assert links(page) == ["incidents/1.html", "incidents/0.html", "incidents/2.html"]
    assert page.index('id="confirmed"') < page.index('id="candidate"') < page.index('id="days"')


def test_a_quiet_day_is_told_from_one_without_data_and_from_one_that_was_not_looked_at(made):
    page = made()
    assert [state(page, number) for number in (9, 10, 11, 13)] == [
        "none 2026-03-09: no mark, no data",
        "quiet 2026-03-10: looked at, nothing found; requests were looked at in 24 of its hours",
        "confirmed 2026-03-11: 1 incident; requests were looked at in 4 of its hours",
        "unjudged 2026-03-13: data, but no latency looked at",
    ]


def test_a_day_leads_to_its_incident_in_the_list(made):
    assert 'href="#incident-1"' in made()


def test_a_day_with_candidates_only_is_marked_as_such(told, made):
    page = made(replace(told.diagnosis, incidents=told.diagnosis.incidents[1:]))
    assert state(page, 11).startswith("candidate ")
    assert "No incident is confirmed." in page


def test_an_incident_past_midnight_lies_on_both_days_of_the_reader_s_zone(told, made):
    start = datetime(2026, 3, 11, 15, 50, tzinfo=UTC)  # 23:50 in Shanghai
    page = made(moved(told, start=start, end=start + timedelta(minutes=30)))
    assert [state(page, number).split()[0] for number in (11, 12, 13)] == [
        "confirmed",
        "confirmed",
        "unjudged",
    ]


def test_an_incident_up_to_midnight_does_not_lie_on_the_next_day(told, made):
    start = datetime(2026, 3, 11, 15, 50, tzinfo=UTC)
    page = made(moved(told, start=start, end=start + timedelta(minutes=10)))
    assert state(page, 12).split()[0] == "none"


def test_an_incident_that_goes_on_lies_on_every_day_to_the_last_of_the_data(told, made):
    page = made(moved(told, end=None))
    assert [state(page, number).split()[0] for number in (11, 12, 13, 14)] == ["confirmed"] * 3 + ["none"]
    assert "still going on" in page


def test_months_without_data_are_counted_not_drawn(made):
    page = made(days=(*DAYS, Day(date(2025, 11, 2), 3)))
    assert re.findall(r"<caption>(.*?)</caption>", page) == ["2026-03", "2025-11"]
    assert "months without data: 3" in page


def test_each_filter_offers_what_occurs(told, made):
    page = made()
    chosen = {
        name: re.findall(r'<option value="([^"]+)">', options)
        for name, options in re.findall(r'<select name="(\w+)">(.*?)</select>', page)
    }
    assert chosen == {
        "service": ["clause-desk"],
        "cause": ["long_context_surge"],
        "status": ["confirmed", "candidate"],
    }


def test_an_incident_whose_cause_is_not_found_can_be_filtered_too(told, made):
    page = made(moved(told, causes=()))
    assert ('data-causes="unknown"' in page, '<option value="unknown">' in page) == (True, True)


def test_files_that_were_loaded_later_are_named_as_not_judged(made):
    assert "Files that were loaded after incidents were looked for: 2." in made(unread=2)
    assert "were loaded after" not in made()


def test_without_any_input_the_page_says_so(told, made):
    page = made(replace(told.diagnosis, incidents=()), days=())
    assert ("No request and no sample was read." in page, "<script" in page) == (True, False)


def test_the_same_arguments_give_the_same_bytes(made):
    assert made() == made()


def test_the_policy_allows_the_page_s_own_script_and_no_request(made):
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', made())
    assert re.fullmatch(
        r"default-src 'none'; script-src 'sha256-[A-Za-z0-9+/=]{44}'; style-src 'unsafe-inline'; "
        r"img-src data:; base-uri 'none'; form-action 'none'",
        policy,
    )


def test_a_stranger_s_string_is_shown_and_not_obeyed(hostile, made):
    page = made(hostile.diagnosis)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert ("<script>alert" in page, "\x00" in page, "\u202e" in page) == (False, False, False)
    assert links(page) == ["incidents/0.html", "incidents/1.html"]
