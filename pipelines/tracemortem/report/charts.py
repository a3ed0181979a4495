"""How is the course of an incident drawn where scripts run? As one Plotly figure of panels on one time axis.

Colours are the page's own variables, `var(--...)`: page.js puts in what page.css says for light and dark.
"""

from collections.abc import Iterator, Mapping
from html import escape
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go

from tracemortem.report.course import Course, Mark, Strip, milliseconds, numbered
from tracemortem.report.escaping import visible
from tracemortem.report.quantities import clock, quantity

_COLOURS = ("var(--line-1)", "var(--line-2)", "var(--line-3)")
_DASHES = ("solid", "dot", "dash")
_PANEL_PX, _EVENTS_PX, _GAP_PX = 84, 30, 30
_MARGIN = {"l": 58, "r": 14, "t": 22, "b": 48}
_SHOWN_CHARACTERS = 300  # of one event's text: the timeline has all of it

Words = Mapping[str, Mapping[str, str]]


def figure(course: Course, words: Words) -> go.Figure:
    """A course as a figure: a strip of events, then the panels, the incident shaded through all of them.

    words    the groups `page` (names of the marks) and `unit`

    Numbers go in as NumPy arrays, which Plotly hands to the browser in binary. All panels share one x axis,
    so that one hover label tells every signal of a minute. Text is escaped for Plotly's own mark-up, which
    knows links.
    """
    heights = [_EVENTS_PX, *(strip.height * _PANEL_PX for strip in course.strips)]
    inside = sum(heights) + _GAP_PX * len(course.strips)
    drawn = go.Figure()
    _draw_events(drawn, course, words["page"])
    for place, (strip, domain) in enumerate(
        zip(course.strips, list(_domains(heights))[1:], strict=True), start=2
    ):
        _draw_strip(drawn, strip, course, place=place, domain=domain, words=words)
    _draw_marks(drawn, course, words["page"])
    drawn.update_layout(
        template="none",
        height=inside + _MARGIN["t"] + _MARGIN["b"],
        margin=_MARGIN,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": "var(--ink)", "family": "system-ui, sans-serif", "size": 12},
        hovermode="x unified",
        hoversubplots="axis",
        hoverlabel={"bgcolor": "var(--paper)", "bordercolor": "var(--rule)", "font_color": "var(--ink)"},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": "var(--quiet)", "activecolor": "var(--ink)"},
        xaxis={
            "type": "date",
            "range": [course.minutes[0], course.minutes[-1]],
            "anchor": f"y{len(heights)}",
            "tickformat": "%H:%M\n%Y-%m-%d UTC",
            "hoverformat": "%Y-%m-%d %H:%M UTC",
            "nticks": 8,
            "tickangle": 0,
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={"visible": False, "range": [-0.6, 2.2], "fixedrange": True, "domain": next(_domains(heights))},
    )
    return drawn


def _domains(heights: list[int]) -> Iterator[tuple[float, float]]:
    """Where each panel lies, from the top down: shares of the height, counted from below."""
    whole = sum(heights) + _GAP_PX * (len(heights) - 1)
    top = whole
    for height in heights:
        yield max(0.0, (top - height) / whole), top / whole
        top -= height + _GAP_PX


def _draw_strip(
    drawn: go.Figure, strip: Strip, course: Course, *, place: int, domain: tuple[float, float], words: Words
) -> None:
    above = {"yref": "paper", "y": domain[1], "yanchor": "bottom"}
    for number, line in enumerate(strip.lines):
        drawn.add_scatter(
            x=course.minutes,
            y=line.values,
            yaxis=f"y{place}",
            name=_shown(line.name),
            mode="lines+markers",  # a minute between two gaps would not be seen without its marker
            line={
                "color": _COLOURS[number % 3],
                "dash": _DASHES[number % 3],
                "width": 2 if number == 0 else 1.5,
            },
            marker={"size": 3},
            hovertemplate=_hover(strip.unit, words["unit"]),
            legend=f"legend{place}",
        )
    drawn.add_annotation(
        text=f"<b>{_shown(strip.title)}</b>", showarrow=False, xref="paper", x=0, xanchor="left", **above
    )
    drawn.update_layout(
        {
            f"yaxis{place}": {
                "domain": domain,
                "rangemode": "tozero",
                "nticks": 3 + strip.height,
                "gridcolor": "var(--grid)",
                "zerolinecolor": "var(--rule)",
                "tickformat": {"ratio": ".3~p"}.get(strip.unit),
                "ticksuffix": {"s": " s"}.get(strip.unit),
            },
            f"legend{place}": {
                "visible": len(strip.lines) > 1,
                "orientation": "h",
                "bgcolor": "rgba(0,0,0,0)",
                "x": 1,
                "xanchor": "right",
                **above,
            },
        }
    )
    if strip.baseline is not None:
        told = f"{words['page']['baseline']} {quantity(strip.baseline, strip.unit, words['unit'])}"
        at = {"yref": f"y{place}", "xref": "paper"}
        drawn.add_shape(
            type="line", x0=0, x1=1, y0=strip.baseline, y1=strip.baseline, **at,
            line={"color": "var(--quiet)", "width": 1, "dash": "dash"},
        )  # fmt: skip
        drawn.add_annotation(
            text=_shown(told), showarrow=False, font_color="var(--quiet)", **at,
            x=0, xanchor="left", y=strip.baseline, yanchor="bottom",
        )  # fmt: skip


def _draw_events(drawn: go.Figure, course: Course, page: Mapping[str, str]) -> None:
    """A strip with one mark for each entry of the timeline, under its number there."""
    events = [mark for mark in course.marks if mark.kind == "event"]
    drawn.add_scatter(
        x=np.array([milliseconds(mark.at) for mark in events]),
        y=np.zeros(len(events)),
        mode="markers+text",
        marker={"symbol": "triangle-down", "size": 9, "color": "var(--quiet)"},
        text=[str(mark.number) if is_labelled else "" for mark, is_labelled in numbered(course)],
        textposition="top center",
        textfont={"size": 11, "color": "var(--quiet)"},
        customdata=[[_told(mark)] for mark in events],
        hovertemplate="%{customdata[0]}",
        name=_shown(page["event"]),
        showlegend=False,
    )


def _draw_marks(drawn: go.Figure, course: Course, page: Mapping[str, str]) -> None:
    through = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    drawn.add_shape(
        x0=milliseconds(course.start),
        x1=milliseconds(course.end),
        line_width=0,
        fillcolor="var(--incident)",
        **through,
    )
    for mark in course.marks:
        if mark.kind == "event":
            continue
        at, until = milliseconds(mark.at), milliseconds(mark.until or mark.at)
        colour, side = f"var(--{mark.kind})", "right" if mark.kind == "onset" else "left"
        drawn.add_shape(
            x0=at, x1=until, fillcolor=colour, opacity=0.45 if until > at else 1,
            line={"color": colour, "width": 0 if until > at else 1.5}, **through,
        )  # fmt: skip
        drawn.add_annotation(
            text=_shown(page[mark.kind]), hovertext=_told(mark), showarrow=False, font_color=colour,
            xref="x", x=at, xanchor=side, yref="paper", y=1, yanchor="bottom",
        )  # fmt: skip


def _hover(unit: str, names: Mapping[str, str]) -> str:
    """Plotly's template of one value; nothing of it comes from data."""
    match unit:
        case "ratio":
            return "%{y:.3~p}"
        case "s":
            return "%{y:.3~s}s"
        case "count":
            return "%{y:,.4~r}"
    return f"%{{y:,.4~r}} {_shown(names.get(unit, unit))}"


def _told(mark: Mark) -> str:
    text = mark.text if len(mark.text) <= _SHOWN_CHARACTERS else mark.text[:_SHOWN_CHARACTERS] + " …"
    number = f"{mark.number}. " if mark.number else ""
    return "<br>".join(_shown(line) for line in wrap(f"{number}{clock(mark.at)} {visible(text)}", 60))


def _shown(text: str) -> str:
    return escape(visible(text), quote=False)
