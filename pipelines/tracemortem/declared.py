"""YAML definitions: loaded once, with errors that name the file and the key."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tracemortem.errors import DefinitionError, SettingError

# libyaml's: of the definitions of access logs it takes 0.06 CPU s, PyYAML's own parser 0.5
_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def parsed(path: Path) -> Any:
    """What a YAML file says; raises yaml.YAMLError where it is none."""
    return yaml.load(path.read_text(encoding="utf-8"), _LOADER)


def load(path: Path, *, known: Iterable[str], required: Iterable[str] = ()) -> dict[str, Any]:
    """One YAML definition, as a dict whose keys are all known.

    path      a YAML file with one mapping
    known     the keys that may stand in it; any other is an error, since a misspelt key would be ignored
    required  those that must
    raises    DefinitionError with the file, and the key at fault
    """
    try:
        found = parsed(path)
    except yaml.YAMLError as error:
        raise DefinitionError(
            f"{path.name} is not YAML",
            where=str(path),
            why=" ".join(str(error).split()),
            fix="mend the line named",
        ) from error
    if not isinstance(found, dict):
        raise DefinitionError(
            f"{path.name} holds no definition",
            where=str(path),
            why=f"it is {type(found).__name__}, not a mapping of keys to values",
            fix="write `key: value` lines; the files beside it show how",
        )
    for key in found:
        if key not in set(known):
            raise DefinitionError(
                f"{path.name} has a key nobody reads: {key!r}",
                where=str(path),
                why=f"known are {', '.join(sorted(known))}",
                fix="correct the spelling or take the key out",
            )
    for key in required:
        if found.get(key) is None:
            raise DefinitionError(
                f"{path.name} lacks {key!r}",
                where=str(path),
                why="the definition cannot be used without it",
                fix=f"add `{key}:`",
            )
    return found


@dataclass(frozen=True)
class Threshold:
    """A number the analysis turns on."""

    name: str
    value: float
    unit: str
    why: str
    source: str


def thresholds(path: Path) -> dict[str, Threshold]:
    """Every number of thresholds.yaml by name; raises DefinitionError for a faulty file."""
    text = parsed(path)
    table = {}
    for name, entry in text.items():
        missing = {"value", "unit", "why", "source"} - set(entry)
        if missing:
            raise DefinitionError(
                f"threshold {name!r} lacks {', '.join(sorted(missing))}",
                where=str(path),
                why="a number without unit, reason and source cannot be defended in a postmortem",
                fix="state them",
            )
        table[name] = Threshold(name, entry["value"], entry["unit"], entry["why"], entry["source"])
    return table


def overridden(table: Mapping[str, Threshold], overrides: Iterable[str]) -> dict[str, Threshold]:
    """The same numbers with the user's `NAME=VALUE` put over them.

    raises   SettingError for an unknown name or a value that is no number
    """
    found = dict(table)
    for override in overrides:
        name, equals, value = override.partition("=")
        if name not in table or not equals:
            raise SettingError(
                f"no threshold is called {name!r}",
                where=f"--set {override}",
                why=f"known are {', '.join(sorted(table))}",
                fix="write --set NAME=VALUE with one of these names",
            )
        try:
            number = float(value)
        except ValueError:
            raise SettingError(
                f"{value!r} is no number",
                where=f"--set {override}",
                why=f"{name} is measured in {table[name].unit}",
                fix=f"write for example --set {name}={table[name].value}",
            ) from None
        old = table[name]
        kept = int(number) if isinstance(old.value, int) and number.is_integer() else number
        found[name] = Threshold(name, kept, old.unit, old.why, "set by the user")
    return found
