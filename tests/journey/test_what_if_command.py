"""what-if on the sample incident: the same as the report says, policies of one's own, and clear errors."""

import json
from pathlib import Path

import pytest

from tracemortem import cli

pytestmark = pytest.mark.slow

OWN = """
policy: night_limit
title: fewer long prompts
effort: 1
assumes: [Who is refused does not come again.]
does:
  - limit: {who: long, per_minute: 20}
"""


@pytest.fixture
def sample(night) -> tuple[Path, dict]:
    """The file that a postmortem wrote, and the incident in its report."""
    out, incident = night
    return out / "tracemortem.duckdb", incident


@pytest.fixture
def said(sample, capsys):
    """Runs what-if on it; its exit code, and what it wrote to stdout and stderr."""

    def of(*options, incident=None, db=sample[0]):
        incident = sample[1]["id"] if incident is None else incident
        code = cli.main(["what-if", "--db", str(db), "--incident", incident, *map(str, options)])
        return code, *capsys.readouterr()

    return of


def test_the_command_says_of_each_policy_what_the_report_says(sample, said):
    code, out, err = said("--json")
    told = json.loads(out)
    assert (code, err) == (cli.DONE, "")
    assert {row["policy"]: row["predicted"] or {} for row in told["what_if"]} == {
        row["policy"]: row["predicted"] for row in sample[1]["what_if"]
    }
    assert told["incident"] == sample[1]["id"]


def test_the_sample_s_culprits_refused_would_have_helped_more_than_the_order_of_the_queue(sample):
    p99_s = {
        row["policy"]: row["predicted"]["p99_s"]["value"] for row in sample[1]["what_if"] if row["predicted"]
    }
    assert len(sample[1]["what_if"]) == 16
    assert p99_s["block_culprits"] < 0.5 * p99_s["own_queue"]


def test_the_file_is_only_read(sample, said):
    before = sample[0].read_bytes()
    said()
    assert sample[0].read_bytes() == before


def test_for_people_a_policy_that_keeps_a_looser_objective_is_called_the_cheapest(said):
    code, out, _ = said("--objective", "p99=3s")
    assert code == cli.DONE
    assert "Held to: P99 up to 3.00 s.\n" in out
    assert "The cheapest that surely keeps to it: block_culprits. 2,671 of 7,664 requests" in out


def test_a_policy_of_one_s_own_is_tried_alone_and_printed_with_what_it_assumes(said, tmp_path):
    (tmp_path / "own.yaml").write_text(OWN)
    code, out, _ = said("--policy", tmp_path / "own.yaml", "--json")
    [row] = json.loads(out)["what_if"]
    assert (code, row["policy"], row["status"], row["rank"]) == (cli.DONE, "night_limit", "quantified", 1)
    assert row["predicted"]["rejected"] > 1000
    assert row["assumes"] == ["Who is refused does not come again."]


def test_another_length_of_a_long_prompt_may_be_set(said, tmp_path):
    (tmp_path / "own.yaml").write_text(OWN)
    own = ("--policy", tmp_path / "own.yaml", "--json")
    _, usual, _ = said(*own)
    _, longer, _ = said(*own, "--set", "long_context_tokens=100000000")
    rejected = [json.loads(out)["what_if"][0]["predicted"]["rejected"] for out in (usual, longer)]
    assert rejected[0] > rejected[1] == 0


def test_an_incident_that_the_file_does_not_have_is_named_with_those_it_has(sample, said):
    code, out, err = said(incident="\x1b[2Jnone")
    assert (code, out) == (cli.USERS_TO_FIX, "")
    assert err.splitlines() == [
        r"tracemortem: no incident is called '\x1b[2Jnone'",
        "  where  --incident",
        f"  why    the file has {sample[1]['id']}",
        "  fix    name one of these; report.json lists them as id",
    ]


@pytest.mark.parametrize(
    ("options", "first"),
    [
        (("--policy", "nowhere.yaml"), "tracemortem: nowhere.yaml cannot be read"),
        (("--policy", "."), "tracemortem: . cannot be read"),
        (("--objective", "p99=soon"), "tracemortem: 'p99=soon' is no objective"),
        (("--objective", "p99=0s"), "tracemortem: 'p99=0s' is no objective"),
        (("--set", "nothing=1"), "tracemortem: no threshold is called 'nothing'"),
    ],
)
def test_what_the_user_can_mend_is_said_in_four_lines(said, options, first):
    code, out, err = said(*options)
    assert (code, out) == (cli.USERS_TO_FIX, "")
    assert err.splitlines()[0] == first
    assert [line[:9] for line in err.splitlines()[1:]] == ["  where  ", "  why    ", "  fix    "]


def test_a_faulty_policy_is_named_with_its_file(said, tmp_path):
    (tmp_path / "own.yaml").write_text(OWN.replace("limit:", "forbid:"))
    code, out, err = said("--policy", tmp_path / "own.yaml")
    assert (code, out) == (cli.USERS_TO_FIX, "")
    assert err.splitlines()[:2] == [
        "tracemortem: the policy own.yaml is wrong: nobody does 'forbid'",
        f"  where  {tmp_path / 'own.yaml'}",
    ]


def test_two_policies_of_one_name_are_not_mixed_up(said, tmp_path):
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(OWN)
    second.write_text(OWN.replace("20}", "40}"))
    code, out, err = said("--policy", first, "--policy", second)
    assert (code, out) == (cli.USERS_TO_FIX, "")
    assert err.splitlines() == [
        "tracemortem: two policies are called 'night_limit'",
        f"  where  --policy {first} --policy {second}",
        "  why    ranks and figures are told by a policy's name, and these would be mixed up",
        "  fix    write another name after policy: in one of them, or give it once",
    ]
    second.write_text(OWN.replace("night_limit", "day_limit"))
    code, out, _ = said("--policy", first, "--policy", second, "--json")
    assert [row["policy"] for row in json.loads(out)["what_if"]] == ["night_limit", "day_limit"]


def test_a_file_that_no_run_wrote_is_said_so(said, tmp_path):
    assert said(db=tmp_path / "none.duckdb")[::2] == (
        cli.USERS_TO_FIX,
        f"tracemortem: there is no none.duckdb\n  where  {tmp_path / 'none.duckdb'}\n"
        "  why    only a file that was published can be asked\n"
        "  fix    name the DuckDB file that a run wrote\n",
    )
