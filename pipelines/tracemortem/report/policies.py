"""How are policies compared at a glance? As plain SVG: P99 with its range, a line a policy, on one axis."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import ceil, floor, log10

from tracemortem.findings import Range, WhatIf
from tracemortem.incident import Incident
from tracemortem.report.escaping import visible
from tracemortem.report.quantities import quantity

_WIDTH, _LEFT, _RIGHT, _TOP = 720.0, 132.0, 64.0, 40.0
_ROW, _BELOW = 18.0, 26.0
_STEPS = (1, 2, 5)  # of each power of ten, which the axis may end with and is marked at

Words = Mapping[str, Mapping[str, str]]


def policies(incident: Incident, words: Words) -> str:
    """The policies of an incident that have figures, lowest P99 first, as one `<svg>`; "" without any.

    words    the groups `page` (what the levels are called) and `unit`

    The axis is logarithmic: one policy may leave a P99 ten times that of another. Level lines show the
    objective and the P99 with no policy, as replayed.
    """
    rows = sorted(
        ((one, one.predicted.p99_s) for one in incident.what_if if one.predicted and one.predicted.p99_s),
        key=lambda row: (row[1].value, row[0].policy),
    )
    rows = [row for row in rows if row[1].value > 0]
    if not rows:
        return ""
    page = words["page"]
    levels = [
        ("objective", rows[0][0].objective_s),
        ("without", incident.replay.during_replayed_s if incident.replay else None),
    ]
    told = [(name, at_s) for name, at_s in levels if at_s is not None and at_s > 0]
    axis = _Axis([end for _, of in rows for end in (of.low, of.value, of.high)] + [at_s for _, at_s in told])
    bottom = _TOP + _ROW * len(rows)
    parts = [
        f'<svg class="drawing" viewBox="0 0 {_WIDTH:g} {bottom + _BELOW:g}" role="img"'
        f' aria-label="{_shown(page["policies"])}">',
        f'<text class="title" x="0" y="12">{_shown(page["policies"])}</text>',
    ]
    for tick in axis.ticks:
        label = quantity(tick, "s", words["unit"], beside=axis.high)
        parts.append(f'<path class="grid" d="M{axis(tick)} {_TOP:g}V{bottom:g}"/>')
        parts.append(_text("tick", axis(tick), bottom + 16, "middle", label))
    parts += _levels(told, axis, bottom, words)
    for place, (one, of) in enumerate(rows):
        parts += _row(one, of, axis, _TOP + _ROW * (place + 0.5), words)
    return "\n".join([*parts, "</svg>"])


class _Axis:
    """Where seconds lie between the left and the right edge, on a logarithmic scale; all above 0.

    ticks   round numbers from the lowest to the highest end of the axis
    """

    def __init__(self, values: Sequence[float]) -> None:
        above = [value for value in values if value > 0]
        powers = range(floor(log10(min(above))), ceil(log10(max(above))) + 1)
        steps = [step * 10.0**power for power in powers for step in _STEPS]
        low = max((step for step in steps if step <= min(above)), default=steps[0])
        self.high = min((step for step in steps if step >= max(above) and step > low), default=10 * steps[-1])
        self.low = low
        self.ticks = [step for step in steps if low <= step <= self.high]

    def __call__(self, value: float) -> float:
        part = log10(max(value, self.low) / self.low) / log10(self.high / self.low)
        return round(_LEFT + part * (_WIDTH - _LEFT - _RIGHT), 1)


def _levels(told: Sequence[tuple[str, float]], axis: _Axis, bottom: float, words: Words) -> Iterator[str]:
    """The lower one's name stands to the left of its line, the other's to the right: they never meet."""
    for place, (name, at_s) in enumerate(sorted(told, key=lambda level: level[1])):
        x = axis(at_s)
        side, away = ("end", -4) if place == 0 else ("start", 4)
        label = f"{words['page'][name]} {quantity(at_s, 's', words['unit'])}"
        yield f'<path class="level-{name}" d="M{x} {_TOP - 12:g}V{bottom:g}"/>'
        yield _text(f"name-{name}", x + away, _TOP - 4, side, label)


def _row(one: WhatIf, of: Range, axis: _Axis, y: float, words: Words) -> Iterator[str]:
    is_kept = " kept" if one.keeps == "yes" else ""
    yield _text("cheapest" if one.is_cheapest else "policy", _LEFT - 10, y + 4, "end", one.policy)
    yield f'<path class="range{is_kept}" d="M{axis(of.low)} {y:g}H{axis(of.high)}"/>'
    yield f'<circle class="value{is_kept}" cx="{axis(of.value)}" cy="{y:g}" r="3.5"/>'
    yield _text("tick", _WIDTH - 4, y + 4, "end", quantity(of.value, "s", words["unit"], beside=axis.high))


def _text(kind: str, x: float, y: float, side: str, text: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{side}">{_shown(text)}</text>'


def _shown(text: str) -> str:
    return escape(visible(text))
