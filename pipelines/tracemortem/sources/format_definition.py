"""What the declaration of an access-log format looks like, key by key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter


@dataclass(frozen=True)
class How:
    """How a field becomes a column: the keys of `Reading`, as they are declared."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    extract: str | None = None
    time: str | None = None
    times: float = 1.0
    list: Literal["sum", "last", "count"] | None = None
    none: tuple[str, ...] = ()
    zone: Literal["", "local"] = ""
    minus: str = ""
    always: str | None = None
    escape: Literal["backslash", "hash", "percent", "none"] = "backslash"


@dataclass(frozen=True)
class Sample:
    """A line that must be read, and every value it gives."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    line: str
    gives: Mapping[str, object]


@dataclass(frozen=True)
class Refused:
    """A line that must not be read."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    line: str
    why: str


@dataclass(frozen=True)
class Declared:
    """A format as it is declared; what each key means stands in docs/formats.md.

    One of line, json and log_format says how a line looks.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    format: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,60}$")]
    title: str
    url: str
    samples: Annotated[Sequence[Sample], Field(min_length=1)]
    refuses: Annotated[Sequence[Refused], Field(min_length=1)]
    record: Literal["access"] = "access"
    preference: int = 1
    line: str = ""
    json_paths: Annotated[tuple[str, ...], Field(alias="json")] = ()
    log_format: str = ""
    fields: Mapping[str, Mapping[str, How | list[How]]] = field(default_factory=dict)
    comment: str = ""
    last_resort: bool = False


KEYS = tuple("json" if one.name == "json_paths" else one.name for one in fields(Declared))
_DECLARED = TypeAdapter(Declared)


def declared_format(entries: Mapping[str, object]) -> Declared:
    """The definition as it stands in its file; raises pydantic.ValidationError where it has another shape."""
    return _DECLARED.validate_python(entries)
