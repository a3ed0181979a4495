"""What a policy is: something that might have been done about an incident, declared in YAML."""

import ipaddress
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracemortem.declared import load
from tracemortem.errors import DefinitionError

_KEYS = {"policy", "title", "effort", "assumes", "does"}
_WHOSE = ("culprits", "long")
_MOST_ACTIONS = 8
_MOST_BYTES = 100_000


@dataclass(frozen=True)
class Number:
    """A number of an action: from least to most; needed unless it has a usual value (nan: none is needed)."""

    least: float
    most: float = 1e9
    usual: float | None = None


_TOKENS = Number(1)
_SECONDS = Number(0)
_SHARE = Number(0, 1)
NUMBERS: Mapping[str, Mapping[str, Number]] = {
    "own_queue": {"from_tokens": _TOKENS},
    "give_up": {"from_tokens": _TOKENS, "after_s": _SECONDS},
    "own_replicas": {"from_tokens": _TOKENS, "replicas": Number(1, 1000)},
    "block_cap": {
        "blocks": Number(1), "block_tokens": Number(1, 1e6), "times": Number(0, 100, math.nan),
        "plus": Number(0, 1e6, 0),
    },
    "block_size": {"tokens": Number(1, 1e6)},
    "no_prefix_cache": {},
    "chunk": {"tokens": _TOKENS},
    "step_budget": {"tokens": Number(16)},
    "long_prefills": {"from_tokens": _TOKENS, "at_once": Number(1, 1e6)},
    "shortest_first": {},
    "more_replicas": {"count": Number(1, 1000)},
    "limit": {"times": Number(0, 1e6, math.nan), "per_minute": Number(0, 1e9, math.nan)},
    "block": {},
    "fallback": {
        "cached_after_s": _SECONDS, "cached_share": _SHARE, "cached_s": _SECONDS, "lighter_after_s": _SECONDS,
        "lighter_share": _SHARE, "lighter_times": Number(0, 100), "refuse_after_s": _SECONDS,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Action:
    """One thing that a policy does.

    numbers  as NUMBERS says of its name; nan where one was not given and none is needed
    who      culprits, long or CIDRs, of whom limit and block speak; () for others
    """

    name: str
    numbers: Mapping[str, float]
    who: tuple[str, ...] = ()


@dataclass(frozen=True)
class Policy:
    """Something that might have been done.

    effort   1 a setting or a rule at the gateway, 2 a change of routing or code, 3 hardware
    assumes  what must hold besides, a sentence each
    """

    name: str
    title: str
    effort: int
    assumes: tuple[str, ...]
    actions: tuple[Action, ...]


def policies(folder: Path) -> tuple[Policy, ...]:
    """Every policy of a folder, least effort first; raises DefinitionError for the first faulty one."""
    found = [policy(path) for path in sorted(folder.glob("*.yaml"))]
    return tuple(sorted(found, key=lambda one: (one.effort, one.name)))


def policy(path: Path) -> Policy:
    """The policy that a YAML file declares.

    raises   DefinitionError with the file and the key at fault; OSError, UnicodeDecodeError if it cannot be
             read
    """
    if path.stat().st_size > _MOST_BYTES:
        raise _wrong(path, f"it is {path.stat().st_size:,} bytes long", "a policy has a few lines")
    entry = load(path, known=_KEYS, required=("policy", "title", "effort", "does"))
    texts = [entry["policy"], entry["title"], *_listed(entry.get("assumes") or [], path, "assumes")]
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise _wrong(path, f"{text!r} is no text", "policy, title and each of assumes: are texts")
    if entry["effort"] not in (1, 2, 3):
        raise _wrong(path, f"effort is {entry['effort']!r}", "it is 1 (setting), 2 (routing) or 3 (hardware)")
    does = _listed(entry["does"], path, "does")
    if not 0 < len(does) <= _MOST_ACTIONS:
        raise _wrong(path, f"it does {len(does)} things", f"a policy does 1 to {_MOST_ACTIONS}")
    return Policy(
        texts[0], texts[1], int(entry["effort"]), tuple(texts[2:]), tuple(_action(one, path) for one in does)
    )


def _listed(value: object, path: Path, key: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise _wrong(path, f"{key} is {type(value).__name__}", "it must be a list")
    return value


def _action(entry: object, path: Path) -> Action:
    if not isinstance(entry, dict) or len(entry) != 1:
        raise _wrong(
            path, f"{entry!r} is no action", "each is one name with its settings: `chunk: {tokens: 512}`"
        )
    [(name, given)] = entry.items()
    if name not in NUMBERS:
        raise _wrong(path, f"nobody does {name!r}", f"known are {', '.join(sorted(NUMBERS))}")
    given = {} if given is None else given
    if not isinstance(given, dict):
        raise _wrong(path, f"{name} is {given!r}", "its settings are `key: value`")
    declared = NUMBERS[name]
    words = {"limit": {"who"}, "block": {"who"}}.get(name, set())
    for key in given:
        if key not in declared and key not in words:
            known = ", ".join(sorted({*declared, *words})) or "none"
            raise _wrong(path, f"{name} has no setting {key!r}", f"known are: {known}")
    numbers = {key: _number(name, key, given.get(key), number, path) for key, number in declared.items()}
    if name == "limit" and math.isnan(numbers["times"]) == math.isnan(numbers["per_minute"]):
        raise _wrong(path, "limit needs one of times and per_minute", "times: of what they sent before")
    who = _whose(name, given.get("who"), path) if "who" in words else ()
    return Action(name, numbers, who)


def _number(name: str, key: str, given: object, number: Number, path: Path) -> float:
    if given is None and number.usual is not None:
        return number.usual
    if (
        isinstance(given, bool)
        or not isinstance(given, int | float)
        or not number.least <= given <= number.most
    ):
        shown = "missing" if given is None else repr(given)
        raise _wrong(
            path, f"{key} of {name} is {shown}", f"it is a number from {number.least:g} to {number.most:g}"
        )
    return float(given)


def _whose(name: str, given: object, path: Path) -> tuple[str, ...]:
    if isinstance(given, str) and given in _WHOSE:
        return (given,)
    if isinstance(given, list) and given:
        try:
            return tuple(str(ipaddress.ip_network(str(one), strict=False)) for one in given)
        except ValueError as error:
            raise _wrong(path, f"who of {name} has no address range", str(error)) from error
    raise _wrong(path, f"who of {name} is {given!r}", "it is culprits, long, or a list of CIDRs")


def _wrong(path: Path, what: str, why: str) -> DefinitionError:
    return DefinitionError(
        f"the policy {path.name} is wrong: {what}",
        where=str(path),
        why=why,
        fix="docs/policies.md shows each action",
    )
