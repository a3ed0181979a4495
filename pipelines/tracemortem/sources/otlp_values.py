"""A single value of OTLP, in whatever writing it was found -> in the Collector's."""

import json
from collections.abc import Callable, Mapping

from tracemortem.sources.otlp_shape import VALUE_KINDS, Kind

_ENUMS: Mapping[str, int] = {
    "SPAN_KIND_UNSPECIFIED": 0,
    "SPAN_KIND_INTERNAL": 1,
    "SPAN_KIND_SERVER": 2,
    "SPAN_KIND_CLIENT": 3,
    "SPAN_KIND_PRODUCER": 4,
    "SPAN_KIND_CONSUMER": 5,
    "STATUS_CODE_UNSET": 0,
    "STATUS_CODE_OK": 1,
    "STATUS_CODE_ERROR": 2,
    "AGGREGATION_TEMPORALITY_UNSPECIFIED": 0,
    "AGGREGATION_TEMPORALITY_DELTA": 1,
    "AGGREGATION_TEMPORALITY_CUMULATIVE": 2,
    "SEVERITY_NUMBER_UNSPECIFIED": 0,
    **{
        f"SEVERITY_NUMBER_{name}{step or ''}": 4 * level + max(step, 1)
        for level, name in enumerate(("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"))
        for step in (0, 2, 3, 4)
    },
}
_DIGITS = 20  # of an integer of 64 bits, its sign included
_TRUTH: Mapping[object, bool] = {"true": True, "false": False, 1: True, 0: False}


class NotOtlpError(Exception):
    """Why something is not OTLP."""


def scalar(kind: Kind) -> Callable[[object, str], object]:
    """What makes a value of this kind of one found in a field; raises NotOtlpError where it cannot be one.

    The function returned takes what was found and the name of the field.
    """
    return _SCALARS[kind]


def impossible(found: object, name: str, wanted: str) -> NotOtlpError:
    """The error that `found` cannot be in the field `name`, which holds what is wanted."""
    text = json.dumps(found)
    return NotOtlpError(f"{name} is not {wanted}: {text if len(text) <= 40 else text[:39] + '…'}")


def _text(found: object, name: str) -> str:
    if isinstance(found, str):
        # halves of surrogate pairs, which JSON can write and UTF-8 cannot, become question marks
        return found if found.isascii() else found.encode("utf-8", "replace").decode()
    if isinstance(found, bool | int | float):
        return json.dumps(found)
    raise impossible(found, name, "a text")


def _count(found: object, name: str) -> str:
    if isinstance(found, str):
        return _text(found, name)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if isinstance(found, float) and found.is_integer():
        return str(int(found))
    raise impossible(found, name, "an integer")


def _int(found: object, name: str) -> int:
    if isinstance(found, str) and found in _ENUMS:
        return _ENUMS[found]
    try:
        number = int(_count(found, name))
    except ValueError:
        raise impossible(found, name, "an integer, nor a name that OTLP knows") from None
    if not -(2**63) <= number < 2**63:
        raise impossible(found, name, "an integer of 64 bits")
    return number


def _real(found: object, name: str) -> float:
    if isinstance(found, str | int | float) and not isinstance(found, bool):
        try:
            return float(found)
        except (ValueError, OverflowError):
            raise impossible(found, name, "a number") from None
    raise impossible(found, name, "a number")


def _flag(found: object, name: str) -> bool:
    if isinstance(found, str | int) and found in _TRUTH:
        return _TRUTH[found]
    raise impossible(found, name, "true or false")


def nested(found: object, name: str) -> str | None:
    """An AnyValue that is no scalar and no list of strings, as a text: JSON, or base64 of bytes."""
    if not isinstance(found, dict):
        raise impossible(found, name, "an object")
    for spelling, held in found.items():
        kind = VALUE_KINDS.get(spelling)
        if held is None or kind is None or kind not in _NESTED:
            continue
        plain = _NESTED[kind](held, kind)
        if isinstance(plain, str):
            return plain
        if isinstance(plain, dict) or not all(item is None or isinstance(item, str) for item in plain):
            return _text(json.dumps(plain, ensure_ascii=False), kind)
    return None


def _plain(found: object, name: str) -> object:
    """What an AnyValue stands for: text (bytes in base64), number, truth value, list, object, or nothing."""
    if found is None:
        return None
    if not isinstance(found, dict):
        raise impossible(found, name, "an object")
    for spelling, held in found.items():
        kind = VALUE_KINDS.get(spelling)
        if kind is not None and held is not None:
            return _NESTED[kind](held, kind) if kind in _NESTED else _PLAIN[kind](held, kind)
    return None


def _list(held: object, kind: str) -> list[object]:
    return [_plain(item, kind) for item in _items(held, kind)]


def _object(held: object, kind: str) -> dict[str, object]:
    pairs = [item for item in _items(held, kind) if isinstance(item, dict)]
    return {str(pair.get("key")): _plain(pair.get("value"), kind) for pair in pairs}


def _items(held: object, kind: str) -> list[object]:
    items = held.get("values") or [] if isinstance(held, dict) else None
    if not isinstance(items, list):
        raise impossible(held, kind, "a list of values")
    return items


def _whole(found: object, name: str) -> int | str:
    text = _count(found, name)
    is_whole = text.removeprefix("-").isdecimal() and len(text) <= _DIGITS
    return int(text) if is_whole else text


_SCALARS: Mapping[Kind, Callable[[object, str], object]] = {
    Kind.TEXT: _text,
    Kind.ID: _text,
    Kind.COUNT: _count,
    Kind.INT: _int,
    Kind.REAL: _real,
    Kind.FLAG: _flag,
}
_PLAIN: Mapping[str, Callable[[object, str], object]] = {
    "stringValue": _text,
    "intValue": _whole,
    "doubleValue": _real,
    "boolValue": _flag,
}
_NESTED: Mapping[str, Callable[[object, str], str | list[object] | dict[str, object]]] = {
    "arrayValue": _list,
    "kvlistValue": _object,
    "bytesValue": _text,
}
