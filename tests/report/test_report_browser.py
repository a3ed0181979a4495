"""The page in a real browser, opened as a file: it draws, asks for nothing, and runs nothing of strangers."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from chromium import NEEDED, Watched, chromium, watch
from playwright.sync_api import Browser

from tracemortem.report.render import write

DRAWN = ".figure .scatterlayer .js-line"

pytestmark = NEEDED


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser: Browser, tmp_path: Path):
    """Writes a report and opens it from the disk."""
    contexts = []

    def opens(told, **context) -> Watched:
        write(
            told.diagnosis,
            told.rows,
            tmp_path,
            product_version="0.1.0",
            created_at=datetime(2026, 3, 11, 8, 0, tzinfo=UTC),
        )
        contexts.append(browser.new_context(**context))
        watched = watch(contexts[-1])
        watched.page.goto((tmp_path / "report.html").as_uri())
        return watched

    yield opens
    for context in contexts:
        context.close()


def test_the_chart_is_drawn_without_a_complaint_or_a_request(told, opened, tmp_path):
    watched = opened(told)
    watched.page.wait_for_selector(DRAWN, state="attached")
    assert (watched.complaints, watched.requests) == ([], [(tmp_path / "report.html").as_uri()])


def test_a_stranger_s_string_runs_nothing(hostile, opened, tmp_path):
    watched = opened(hostile)
    watched.page.wait_for_selector(DRAWN, state="attached")
    watched.page.hover(".figure .nsewdrag >> nth=1")
    watched.page.wait_for_timeout(300)
    assert (watched.dialogs, watched.complaints) == ([], [])
    assert watched.requests == [(tmp_path / "report.html").as_uri()]


def test_no_script_that_was_slipped_in_would_run(told, opened):
    watched = opened(told)
    watched.page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"window.ran = 1\">')"
    )
    watched.page.wait_for_timeout(300)
    assert watched.page.evaluate("window.ran") is None


def test_one_hover_tells_every_signal_of_its_minute(told, opened):
    watched = opened(told)
    watched.page.wait_for_selector(DRAWN, state="attached")
    watched.page.hover(".figure .nsewdrag >> nth=1")
    label = watched.page.wait_for_selector(".figure .hoverlayer .legend").text_content()
    names = ["P99", "P50", "requests", "long prompts", "hits", "DRAM", "GPU", "SM clock"]
    assert [name for name in names if f"{name} : " not in label] == []


def test_without_scripts_the_picture_is_shown(told, opened):
    watched = opened(told, java_script_enabled=False)
    assert (watched.page.is_visible("svg.drawing"), watched.page.is_visible(".figure")) == (True, False)


def test_where_plotly_cannot_be_unpacked_the_picture_stays(told, opened):
    watched = opened(told)
    watched.page.add_init_script("delete window.DecompressionStream")
    watched.page.reload()
    watched.page.wait_for_timeout(500)
    assert watched.page.is_visible("svg.drawing")


def test_on_paper_the_picture_is_shown(told, opened):
    watched = opened(told)
    watched.page.wait_for_selector(DRAWN, state="attached")
    watched.page.emulate_media(media="print")
    assert (watched.page.is_visible("svg.drawing"), watched.page.is_visible(".figure")) == (True, False)


def test_colours_follow_the_reader_s_scheme(told, opened):
    watched = opened(told)
    colour = f"getComputedStyle(document.querySelector('{DRAWN}')).stroke"
    watched.page.wait_for_selector(DRAWN, state="attached")
    light = watched.page.evaluate(colour)
    watched.page.emulate_media(color_scheme="dark")
    watched.page.wait_for_timeout(1500)  # the page's policy forbids the polling that wait_for_function does
    assert (light, watched.page.evaluate(colour)) == ("rgb(0, 114, 178)", "rgb(86, 180, 233)")


def test_nothing_hangs_over_the_edge_of_a_phone(hostile, opened):
    watched = opened(hostile, viewport={"width": 390, "height": 844})
    watched.page.wait_for_selector(DRAWN, state="attached")
    assert watched.page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_link_to_sql_opens_the_folded_method(told, opened):
    watched = opened(told)
    watched.page.click("a >> text=E3 >> nth=0")
    watched.page.wait_for_selector("details[open]")
    assert watched.page.is_visible("text=mart.cache_minute")
