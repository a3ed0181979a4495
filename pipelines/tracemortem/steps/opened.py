"""How a step opens the store, and what number each parameter of the SQL has."""

from collections.abc import Mapping
from datetime import UTC, datetime
from os import environ
from pathlib import Path

from tracemortem import declared
from tracemortem.declared import Threshold
from tracemortem.detect.watches import watches
from tracemortem.errors import SettingError
from tracemortem.settings import Settings
from tracemortem.warehouse.store import Store

_THRESHOLDS = Path(__file__).parent.parent / "thresholds.yaml"


def store(settings: Settings, *, threads: int | None = None) -> Store:
    """The store behind the DuckDB file of these settings. threads: as Store takes them."""
    return Store(settings.published(), threads=threads)


def thresholds(settings: Settings) -> Mapping[str, Threshold]:
    """Every number of the analysis, detection's included, with the user's put over the project's."""
    detection = {name: number for watch in watches().values() for name, number in watch.numbers.items()}
    return declared.overridden({**declared.thresholds(_THRESHOLDS), **detection}, settings.overrides)


def values(settings: Settings) -> Mapping[str, float]:
    """The same as plain numbers by name, for SQL parameters."""
    return {name: threshold.value for name, threshold in thresholds(settings).items()}


def given(settings: Settings) -> Mapping[str, float]:
    """Of the same numbers those that the user set."""
    names = {override.partition("=")[0] for override in settings.overrides}
    return {name: value for name, value in values(settings).items() if name in names}


def now() -> datetime:
    """The time that a run stamps on what it makes: SOURCE_DATE_EPOCH where set, so that bytes repeat.

    raises   SettingError if that is no time
    """
    fixed = environ.get("SOURCE_DATE_EPOCH")
    if fixed is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        return datetime.fromtimestamp(int(fixed), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise SettingError(
            f"{fixed!r} is no time",
            where="SOURCE_DATE_EPOCH in the environment",
            why=str(error),
            fix="set it to whole seconds since 1970, as `date +%s` prints them, or unset it",
        ) from error
