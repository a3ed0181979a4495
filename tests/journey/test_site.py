"""The site of files that runs wrote: by the command, in a real browser, with strangers' names, by day."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import duckdb
import orjson
import pytest
from chromium import NEEDED, chromium, watch

from tracemortem import cli

SPAN = (
    '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"edge"}}]},'
    '"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","name":"POST","kind":2,'
    '"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":'
    '[{"key":"http.response.status_code","value":{"intValue":"200"}}],"status":{}}]}]}]}\n'
)
HOSTILE = '../<img src=x onerror="alert(1)"> \'--</script>\u202e/Ñ'


def written(*arguments: str | Path) -> int:
    return cli.main(["site", *map(str, arguments), "--quiet"])


def contents(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def told_otherwise(db: Path, changed: Path, change) -> Path:
    """A copy of the file, with another diagnosis in it."""
    shutil.copy(db, changed)
    changed.chmod(0o644)
    with duckdb.connect(str(changed)) as con:
        [(text,)] = con.execute("select diagnosis from meta.diagnosis").fetchall()
        found = orjson.loads(text)
        change(found)
        con.execute("update meta.diagnosis set diagnosis = $1", [orjson.dumps(found).decode()])
    return changed


@pytest.fixture(scope="module")
def db(night) -> Path:
    return night[0] / "tracemortem.duckdb"


@pytest.fixture(scope="module")
def site(db, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert written("--db", db, "--out", out) == cli.DONE
    return out


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser):
    contexts = []

    def opens(out: Path, **context):
        contexts.append(browser.new_context(**context))
        watched = watch(contexts[-1])
        watched.page.goto((out / "index.html").as_uri())
        return watched

    yield opens
    for context in contexts:
        context.close()


@pytest.mark.slow
def test_the_site_has_a_page_for_the_incident_which_is_its_report(site, night):
    incident = night[1]
    [page] = [path for path in (site / "incidents").iterdir() if incident["service"] in path.name]
    text = page.read_text(encoding="utf-8")
    report = (night[0] / "report.html").read_text(encoding="utf-8")
    title = re.compile(r"<h1 .*?</h1>")
    assert title.search(text)[0] == title.search(report)[0]
    assert '<a href="../index.html">All incidents</a>' in text
    assert f'href="incidents/{page.name}"' in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_link_leads_to_a_file_of_the_site(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    linked = {unquote(found) for found in re.findall(r'href="(incidents/[^"]*)"', page)}
    assert linked == {name for name in contents(site) if name.startswith("incidents/")}


@pytest.mark.slow
def test_the_same_file_gives_the_same_bytes_whenever(db, site, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert written("--db", db, "--out", tmp_path) == cli.DONE
    assert contents(tmp_path) == contents(site)


@pytest.mark.slow
def test_an_incident_that_is_gone_goes_from_the_site_too(db, site, tmp_path):
    out = shutil.copytree(site, tmp_path / "site")
    quiet = told_otherwise(db, tmp_path / "quiet.duckdb", lambda found: found["incidents"].clear())
    assert written("--db", quiet, "--out", out) == cli.DONE
    assert sorted(contents(out)) == ["index.html", "site.json"]
    assert b"looked at, nothing found; requests" in (out / "index.html").read_bytes()


@pytest.mark.slow
def test_of_what_is_not_confirmed_the_page_speaks_for_its_own_time_only(db, tmp_path):
    def doubted(found):
        incident = found["incidents"][0]
        found["incidents"].append({**incident, "id": "20231115T0217Z-doubted", "status": "candidate"})

    changed = told_otherwise(db, tmp_path / "x.duckdb", doubted)
    assert written("--db", changed, "--out", tmp_path / "site") == cli.DONE
    [page] = (tmp_path / "site" / "incidents").glob("*-doubted-*.html")
    text = page.read_text(encoding="utf-8")
    assert re.search(r"From 2023-11-15 02:\d\d UTC to 2023-11-15 02:\d\d UTC, no stretch", text)


@pytest.mark.slow
def test_days_that_were_not_looked_at_and_files_loaded_later_are_told(tmp_path):
    def spans(day: int) -> Path:
        start = int(datetime(2026, 4, day, 9, 30, tzinfo=UTC).timestamp()) * 10**9
        path = tmp_path / f"{day}.jsonl"
        every = [(day * 1000 + n + 1, start + n * 10**10) for n in range(400)]
        path.write_text("".join(SPAN % (key, key, at, at + 5 * 10**8) for key, at in every))
        return path

    db, out = tmp_path / "x.duckdb", tmp_path / "site"
    asked = [str(spans(day)) for day in (7, 8)]
    cli.main(
        ["postmortem", *asked, "--db", str(db), "--out", str(tmp_path), "--from", "2026-04-08", "--quiet"]
    )
    cli.main(["ingest", str(spans(9)), "--db", str(db), "--quiet"])
    assert written("--db", db, "--out", out) == cli.DONE
    page = (out / "index.html").read_text(encoding="utf-8")
    states = re.findall(r'<td class="(\w+)" title="2026-04-0[6789]: ', page)
    assert states[:3] == ["none", "unjudged", "quiet"]
    assert "requests were looked at in 2 of its hours" in page
    assert "loaded after incidents were looked for: 1." in page


class TestInABrowser:
    pytestmark = NEEDED

    def test_it_opens_from_the_disk_and_its_link_opens_the_report(self, site, opened, night):
        watched = opened(site)
        assert (watched.complaints, watched.requests) == ([], [(site / "index.html").as_uri()])
        watched.page.click("section.confirmed td.when a")
        watched.page.wait_for_selector(".figure .scatterlayer .js-line", state="attached")
        assert night[1]["service"] in watched.page.text_content("h1")
        watched.page.click("text=All incidents")
        assert watched.page.text_content("h1") == "Days and incidents"
        assert watched.complaints == []

    def test_filters_work_and_can_be_undone(self, db, opened, tmp_path):
        def more(found):
            one = found["incidents"][0]
            cause = {**one["causes"][0], "kind": "gpu_throttle", "role": "primary"}
            found["incidents"] = [
                one,
                {**one, "id": "b", "service": "other", "causes": [cause]},
                {**one, "id": "c", "service": "other", "status": "candidate", "causes": []},
            ]

        assert written("--db", told_otherwise(db, tmp_path / "x", more), "--out", tmp_path / "s") == cli.DONE
        page = opened(tmp_path / "s").page
        shown = "document.querySelectorAll('tr[data-service]:not([hidden])').length"
        counts = [page.evaluate(shown)]
        for name, value in (("service", "other"), ("cause", "gpu_throttle"), ("status", "candidate")):
            page.select_option(f"select[name={name}]", value)
            counts.append(page.evaluate(shown))
        assert (counts, page.is_visible("section.confirmed")) == ([3, 2, 1, 0], False)
        assert page.inner_text(".filters p").startswith("0 of 3 shown")
        page.focus("select[name=status]")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("section.confirmed")
        assert page.evaluate(shown) == 3
        page.select_option("select[name=status]", "candidate")
        page.click("td.confirmed a")  # a day leads to its incident all the same
        page.wait_for_selector("section.confirmed")
        assert page.evaluate(shown) == 3

    def test_without_scripts_the_whole_list_stands(self, site, opened):
        page = opened(site, java_script_enabled=False).page
        assert (page.is_visible(".filters"), page.is_visible("section.confirmed tr")) == (False, True)

    def test_a_hostile_service_names_no_file_and_runs_nothing(self, db, opened, tmp_path):
        def renamed(found):
            for n, one in enumerate(found["incidents"]):
                one |= {"service": HOSTILE, "id": f"{one['id'][:14]}-{HOSTILE}{n}", "reason": HOSTILE}

        changed = told_otherwise(db, tmp_path / "x.duckdb", renamed)
        out = tmp_path / "deep" / "site"
        assert written("--db", changed, "--out", out) == cli.DONE
        names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
        pages = {name for name in names if re.fullmatch(r"deep/site/incidents/[a-z0-9-]+\.html", name)}
        assert names - pages == {"x.duckdb", "deep/site/index.html", "deep/site/site.json"}
        watched = opened(out, viewport={"width": 390, "height": 844})
        assert watched.page.evaluate("document.documentElement.scrollWidth") == 390
        watched.page.select_option("select[name=service]", index=1)
        assert watched.page.evaluate("document.querySelectorAll('tr[hidden]').length") == 0
        watched.page.click("section.confirmed td.when a")
        watched.page.wait_for_selector("svg.drawing", state="attached")
        assert (watched.dialogs, watched.complaints) == ([], [])
        assert {url.split("?")[0] for url in watched.requests} <= {
            path.as_uri() for path in out.rglob("*.html")
        }

    def test_nothing_hangs_over_the_edge_of_a_phone(self, site, opened):
        page = opened(site, viewport={"width": 390, "height": 844}).page
        assert page.evaluate("document.documentElement.scrollWidth") == 390

    def test_colours_follow_the_reader_s_scheme(self, site, opened):
        page = opened(site, color_scheme="dark").page
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
