"""How is the course of an incident drawn where no script runs, and on paper? As plain SVG."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from math import ceil, log10

import numpy as np

from tracemortem.report.course import Course, Floats, Line, Mark, Strip, milliseconds, numbered
from tracemortem.report.escaping import visible
from tracemortem.report.quantities import quantity

_WIDTH, _LEFT, _RIGHT, _TOP = 720.0, 46.0, 12.0, 36.0
_SPARK = (160.0, 36.0)  # width and height of a sparkline
_PANEL, _GAP, _BELOW = 60.0, 30.0, 40.0
_MOST_POINTS = 600  # of a line: the picture has no room for more
_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)  # minutes
_MOST_TIMES = 8

Words = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class _Axis:
    """Where a value lies between two edges of the picture."""

    low: float
    high: float
    at_low: float
    at_high: float

    def __call__(self, value: float) -> float:
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.at_low + part * (self.at_high - self.at_low), 1)


def drawing(course: Course, words: Words) -> str:
    """A course as one `<svg>`: the panels and marks of the figure, without anything to touch.

    words    the groups `page` (names of the marks) and `unit`
    """
    last = max(course.minutes[-1], course.minutes[0] + 60_000)
    x = _Axis(course.minutes[0], last, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + sum(strip.height * _PANEL + _GAP for strip in course.strips)
    parts = [
        f'<svg class="drawing" viewBox="0 0 {_WIDTH:g} {bottom + _BELOW:g}" role="img"'
        f' aria-label="{_shown(words["page"]["static"])}">',
        *_marks(course, x, bottom, words["page"]),
    ]
    top = _TOP
    for strip in course.strips:
        parts += _panel(strip, course.minutes, x, top + _GAP, words)
        top += strip.height * _PANEL + _GAP
    return "\n".join([*parts, *_times(x, bottom), "</svg>"])


def sparkline(course: Course, said: str) -> str:
    """The first line of a course as one small `<svg>`: no axis, the incident shaded, what was usual dashed.

    said   what it shows, for those who do not see it
    """
    strip = course.strips[0]
    highest = max(float(np.nanmax(strip.lines[0].values)), strip.baseline or 0.0)
    x = _Axis(course.minutes[0], max(course.minutes[-1], course.minutes[0] + 60_000), 1, _SPARK[0] - 1)
    y = _Axis(0.0, highest or 1.0, _SPARK[1] - 1, 2)
    start, end = x(milliseconds(course.start)), x(milliseconds(course.end))
    usual = strip.baseline
    dashed = "" if usual is None else f'<path class="baseline" d="M0 {y(usual)}H{_SPARK[0]:g}"/>'
    return (
        f'<svg class="drawing" viewBox="0 0 {_SPARK[0]:g} {_SPARK[1]:g}" role="img"'
        f' aria-label="{_shown(said)}">'
        f'<rect class="incident" x="{start}" width="{max(end - start, 1):g}" y="0" height="{_SPARK[1]:g}"/>'
        f'{dashed}<path class="line" d="{_path(strip.lines[0], course.minutes, x, y)}"/></svg>'
    )


def _panel(strip: Strip, minutes: Floats, x: _Axis, top: float, words: Words) -> Iterator[str]:
    highest = max(float(np.nanmax(line.values)) for line in strip.lines)
    ticks = _ticks(max(highest, strip.baseline or 0.0), strip.height + 1)
    y = _Axis(0.0, ticks[-1], top + strip.height * _PANEL, top)
    yield f'<text class="title" x="{_LEFT:g}" y="{top - 8:g}">{_shown(strip.title)}</text>'
    for tick in ticks:
        yield f'<path class="grid" d="M{_LEFT:g} {y(tick)}H{x.at_high:g}"/>'
        unit = (
            strip.unit if strip.unit in {"s", "ratio"} else ""
        )  # of others there is no room: the title has it
        label = quantity(tick, unit, words["unit"], beside=ticks[-1])
        yield _tick(_LEFT - 6, y(tick) + 4, "end", label)
    if strip.baseline is not None:
        yield f'<path class="baseline" d="M{_LEFT:g} {y(strip.baseline)}H{x.at_high:g}"/>'
    for place, line in enumerate(strip.lines, start=1):
        yield f'<path class="line line-{place}" d="{_path(line, minutes, x, y)}"/>'
    if len(strip.lines) > 1:
        names = "".join(
            f'<tspan class="name-{place}" dx="10">— {_shown(line.name)}</tspan>'
            for place, line in enumerate(strip.lines, start=1)
        )
        yield f'<text class="legend" x="{x.at_high:g}" y="{top - 8:g}" text-anchor="end">{names}</text>'


def _path(line: Line, minutes: Floats, x: _Axis, y: _Axis) -> str:
    """The line's own stretches; where nothing was measured it is broken, and a lone minute is a dot."""
    stretches: list[list[str]] = [[]]
    for at, value in zip(*_thinned(minutes, line.values), strict=True):
        if np.isnan(value):
            stretches.append([])
        else:
            stretches[-1].append(f"{x(at)} {y(value)}")
    return "".join(f"M{points[0]}L{' '.join(points[1:] or points)}" for points in stretches if points)


def _thinned(minutes: Floats, values: Floats) -> tuple[Floats, Floats]:
    """No more points than the picture has room for: of each group of minutes its lowest and its highest."""
    if minutes.size <= _MOST_POINTS:
        return minutes, values
    edges = np.linspace(0, minutes.size, _MOST_POINTS // 2 + 1).astype(np.int64)
    kept = []
    for low, high in pairwise(edges):
        group = values[low:high]
        if np.isnan(group).all():
            kept.append(low)
        else:
            kept += sorted({low + int(np.nanargmin(group)), low + int(np.nanargmax(group))})
    return minutes[kept], values[kept]


def _marks(course: Course, x: _Axis, bottom: float, page: Mapping[str, str]) -> Iterator[str]:
    start, end = x(milliseconds(course.start)), x(milliseconds(course.end))
    height = f'y="{_TOP:g}" height="{bottom - _TOP:g}"'
    yield f'<rect class="incident" x="{start}" width="{max(end - start, 1):g}" {height}/>'
    for mark in course.marks:
        at = x(milliseconds(mark.at))
        if mark.kind == "event":
            continue
        width = max(x(milliseconds(mark.until or mark.at)) - at, 1.5)
        yield f'<rect class="{mark.kind}" x="{at}" width="{width:g}" {height}/>'
        yield _label(mark, at, page)
    for mark, is_labelled in numbered(course):
        at = x(milliseconds(mark.at))
        yield f'<path class="event" d="M{at} {_TOP:g}l-4 -7h8z"/>'
        if is_labelled:
            yield _tick(at, _TOP - 10, "middle", f"{mark.number}")


def _label(mark: Mark, at: float, page: Mapping[str, str]) -> str:
    side, away = ("end", -3) if mark.kind == "onset" else ("start", 3)
    return (
        f'<text class="name-{mark.kind}" x="{at + away:g}" y="{_TOP - 24:g}" text-anchor="{side}">'
        f"{_shown(page[mark.kind])}</text>"
    )


def _times(x: _Axis, bottom: float) -> Iterator[str]:
    """Round times of day below the last panel, the date under the first and under each new day."""
    minutes = (x.high - x.low) / 60_000
    step = next((step for step in _TIME_STEPS if minutes / step <= _MOST_TIMES), _TIME_STEPS[-1]) * 60_000
    day = ""
    for at in np.arange(ceil(x.low / step) * step, x.high + 1, step):
        instant = datetime.fromtimestamp(float(at) / 1000, UTC)
        yield _tick(x(at), bottom + 16, "middle", f"{instant:%H:%M}")
        if f"{instant:%Y-%m-%d}" != day:
            day = f"{instant:%Y-%m-%d}"
            yield _tick(x(at), bottom + 31, "middle", f"{day} UTC")


def _ticks(highest: float, most: int) -> list[float]:
    """Zero and up to `most` round steps above it, the last one not below the highest value."""
    if highest <= 0:
        return [0.0, 1.0]
    rough = highest / most
    power = 10.0 ** np.floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    return [float(step * place) for place in range(ceil(highest / step - 1e-9) + 1)]


def _tick(x: float, y: float, side: str, text: str) -> str:
    return f'<text class="tick" x="{x:g}" y="{y:g}" text-anchor="{side}">{_shown(text)}</text>'


def _shown(text: str) -> str:
    return escape(visible(text))
