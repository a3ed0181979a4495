"""Policies as people write them: what is understood, and what each mistake earns."""

from pathlib import Path

import pytest

from tracemortem import folders
from tracemortem.errors import DefinitionError
from tracemortem.replay.policy import NUMBERS, Action, Policy, policies, policy

OURS = folders.definitions("replay", "policies")
HEAD = "policy: mine\ntitle: what I want to know\neffort: 1\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_policy_is_what_its_file_says(tmp_path):
    path = written(
        tmp_path,
        "policy: mine\ntitle: a queue, and a limit\neffort: 2\nassumes: [Nobody asks again.]\n"
        "does:\n  - own_queue: {from_tokens: 2048}\n  - limit: {who: [192.0.2.7/24], per_minute: 20}\n",
    )
    queue, limit = policy(path).actions
    assert queue == Action("own_queue", {"from_tokens": 2048.0})
    assert (limit.who, limit.numbers["per_minute"]) == (("192.0.2.0/24",), 20.0)
    assert policy(path) == Policy("mine", "a queue, and a limit", 2, ("Nobody asks again.",), (queue, limit))


def test_a_number_not_given_has_its_usual_value(tmp_path):
    text = f"{HEAD}does: [block_cap: {{blocks: 256, block_tokens: 32, times: 1.2}}]\n"
    [action] = policy(written(tmp_path, text)).actions
    assert action.numbers == {"blocks": 256.0, "block_tokens": 32.0, "times": 1.2, "plus": 0.0}


def test_the_policies_that_come_with_the_product_are_named_as_their_files_and_sorted_by_effort():
    ours = policies(OURS)
    assert sorted(one.name for one in ours) == sorted(path.stem for path in OURS.glob("*.yaml"))
    assert [(one.effort, one.name) for one in ours] == sorted((one.effort, one.name) for one in ours)


def test_the_document_shows_every_action_and_every_policy(repo_root):
    text = (repo_root / "docs" / "policies.md").read_text(encoding="utf-8")
    wanted = {*NUMBERS, *(key for numbers in NUMBERS.values() for key in numbers)}
    wanted |= {one.name for one in policies(OURS)}
    assert {name for name in wanted if name not in text} == set()


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("does: [fly: {high: 1}]", "nobody does 'fly'", f"known are {', '.join(sorted(NUMBERS))}"),
        ("does: [chunk: {tokens: 0}]", "tokens of chunk is 0", "it is a number from 1 to 1e+09"),
        ("does: [chunk: {}]", "tokens of chunk is missing", "it is a number from 1 to 1e+09"),
        ("does: [chunk: {tokens: .nan}]", "tokens of chunk is nan", "it is a number from 1 to 1e+09"),
        ("does: [chunk: {tokens: yes}]", "tokens of chunk is True", "it is a number from 1 to 1e+09"),
        ("does: [chunk: {token: 512}]", "chunk has no setting 'token'", "known are: tokens"),
        ("does: [shortest_first: {a: 1}]", "shortest_first has no setting 'a'", "known are: none"),
        ("does: [chunk: 512]", "chunk is 512", "its settings are `key: value`"),
        (
            "does: [shortest_first]",
            "'shortest_first' is no action",
            "each is one name with its settings: `chunk: {tokens: 512}`",
        ),
        ("does: {chunk: {tokens: 512}}", "does is dict", "it must be a list"),
        ("does: []", "it does 0 things", "a policy does 1 to 8"),
        (
            "does: [limit: {who: long}]",
            "limit needs one of times and per_minute",
            "times: of what they sent before",
        ),
        (
            "does: [limit: {who: long, times: 1, per_minute: 1}]",
            "limit needs one of times and per_minute",
            "times: of what they sent before",
        ),
        ("does: [block: {who: all}]", "who of block is 'all'", "it is culprits, long, or a list of CIDRs"),
        (
            "does: [block: {who: [192.0.2.0/40]}]",
            "who of block has no address range",
            "'192.0.2.0/40' does not appear to be an IPv4 or IPv6 network",
        ),
        (
            "assumes: [1]\ndoes: [shortest_first: ]",
            "1 is no text",
            "policy, title and each of assumes: are texts",
        ),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(text, what, why, tmp_path):
    path = written(tmp_path, f"{HEAD}{text}\n")
    with pytest.raises(DefinitionError) as caught:
        policy(path)
    assert (caught.value.what, caught.value.why) == (f"the policy mine.yaml is wrong: {what}", why)


def test_an_effort_is_one_two_or_three(tmp_path):
    text = f"{HEAD}does: [shortest_first: ]\n".replace("effort: 1", "effort: 4")
    with pytest.raises(DefinitionError, match="effort is 4"):
        policy(written(tmp_path, text))


def test_a_file_too_long_for_a_policy_is_not_read(tmp_path):
    with pytest.raises(DefinitionError, match="it is 100,001 bytes long"):
        policy(written(tmp_path, "x" * 100_001))
