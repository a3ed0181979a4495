"""How does a number with a unit, an instant or a stretch of time read? No more exact than it is."""

from collections.abc import Mapping
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

_SHORT = 0.1  # seconds: below, people say milliseconds
_BINARY = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))


def quantity(value: float, unit: str, names: Mapping[str, str], *, beside: float | None = None) -> str:
    """A number and its unit, three digits exact; whole numbers below a million in full.

    unit     as evidence carries it: `s`, `ratio` (0 to 1, shown as %), `bytes`, `count` or `-` (no unit
             shown), or any other word, shown as it is
    names    how a unit is written, where not as it is: the words of the report's language
    beside   a number that stands next to it, so that both are in one unit: 0.09 s beside 3.8 s, not 90 ms
    """
    largest = max(abs(value), abs(beside or 0.0))
    match unit:
        case "ratio" | "share":
            return f"{_digits(value * 100)} %"
        case "s" if 0 < largest < _SHORT:
            return f"{_digits(value * 1000)} {names.get('ms', 'ms')}"
        case "bytes":
            name, size = next((pair for pair in _BINARY if largest >= pair[1]), _BINARY[-1])
            return f"{_digits(value / size)} {name}"
    shown = names.get(unit, "" if unit in {"count", "-", ""} else unit)
    return f"{_digits(value)} {shown}".rstrip()


def span(seconds: float, names: Mapping[str, str]) -> str:
    """A stretch of time in its two largest parts: `45 s`, `24 min`, `1 h 12 min`, `2 d 3 h`."""
    whole = round(seconds)
    if whole < 60:
        return quantity(seconds, "s", names)
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, whole = divmod(whole, size)
        parts.append((count, names.get(unit, unit)))
    first = next(place for place, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {name}" for count, name in parts[first : first + 2] if count)


def instant(at: datetime) -> str:
    """`2026-04-24 02:17 UTC`; with seconds only where there are any."""
    return f"{at.astimezone(UTC):%Y-%m-%d} {clock(at)} UTC"


def clock(at: datetime) -> str:
    """`02:17` in UTC, or `02:17:09`."""
    there = at.astimezone(UTC)
    return f"{there:%H:%M:%S}" if there.second else f"{there:%H:%M}"


def interval(start: datetime, end: datetime) -> str:
    """From one instant to another: `2026-04-24 02:17–02:41 UTC`, with both dates where they differ."""
    first, last = start.astimezone(UTC), end.astimezone(UTC)
    if first.date() == last.date():
        return f"{first:%Y-%m-%d} {clock(first)}–{clock(last)} UTC"
    return f"{first:%Y-%m-%d} {clock(first)} – {instant(last)}"


def local(at: datetime, zone: str) -> str:
    """The same instant as people on the spot read it: `10:17 Asia/Shanghai`."""
    return f"{at.astimezone(ZoneInfo(zone)):%H:%M} {zone}"


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1_000_000:
        return f"{value:,.0f}"
    size = abs(value)
    places = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    if size < 1:
        return f"{value:.3g}" if size >= 0.001 else f"{value:.2g}"
    shown = f"{value:,.{places}f}"
    return shown.rstrip("0").rstrip(".") if places else shown
