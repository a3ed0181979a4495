"""How does the report's Markdown become one HTML file that needs nothing else, and can do nothing else?

The page carries its style, its script, its figures and Plotly inside. Its content security policy forbids
every request, and every script but the two whose hashes it names: even a mistake in escaping could not run
anything.
"""

import base64
import gzip
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from tracemortem.report import yours
from tracemortem.report.escaping import anchor
from tracemortem.report.sections import found


@dataclass(frozen=True)
class Part:
    """One stretch of the report: a title with its text, and perhaps a chart.

    name      of its section, or `headline`
    level     of its title: 1 for the report's, 2 and 3 below
    title     Markdown, one line
    text      Markdown
    figure    Plotly's JSON, or None
    picture   the same chart as SVG, or ""
    """

    name: str
    level: int
    title: str
    text: str
    is_folded: bool = False
    figure: str | None = None
    picture: str = ""


def markdown(parts: Iterable[Part]) -> str:
    """The parts as one Markdown file."""
    return (
        "\n\n".join(
            piece for part in parts for piece in (f"{'#' * part.level} {part.title}", part.text) if piece
        )
        + "\n"
    )


def page(
    parts: Sequence[Part],
    folders: Sequence[Path],
    *,
    words: Mapping[str, Mapping[str, str]],
    written: yours.Words,
    home: str = "",
) -> str:
    """The parts as one HTML page.

    folders   where page.html.j2, page.css and page.js are; earlier ones first
    words     of the report's language; those for verdicts become labels where a template has them in bold
    written   what people wrote, by its place; an empty place shows what might be written there
    home      relative address of the page that lists this one; "": none does

    Style is allowed inline, as Plotly writes style sheets and style attributes; without the network, and with
    HTML in Markdown disabled, nothing can come in that way.
    """
    script = found(folders, "page.js").read_text(encoding="utf-8")
    has_charts = any(part.figure for part in parts)
    hashes = f"'{hashed(script)}' '{hashed(get_plotlyjs())}'" if has_charts else "'none'"
    labels = {
        word: f"{group}-{key}"
        for group in ("quality", "mitigation", "verdict")
        for key, word in words[group].items()
    }
    taken: set[str] = set()
    return (
        templates(folders)
        .get_template("page.html.j2")
        .render(
            words=words["page"],
            home=home,
            title=_words_in(_READER.parseInline(parts[0].title)[0]),
            script_hashes=Markup(hashes),
            css=Markup(found(folders, "page.css").read_text(encoding="utf-8")),
            script=Markup(script) if has_charts else "",
            plotly=_packed(get_plotlyjs()) if has_charts else "",
            parts=[_shown(part, labels, taken, written) for part in parts],
        )
    )


def templates(folders: Sequence[Path]) -> Environment:
    """The HTML templates of the folders, earlier ones first; what they put out is escaped."""
    return Environment(
        loader=FileSystemLoader([str(folder) for folder in folders]),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def hashed(script: str) -> str:
    """A script as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _shown(part: Part, labels: Mapping[str, str], taken: set[str], written: yours.Words) -> dict[str, object]:
    """A part as page.html.j2 takes it."""
    heading = _READER.parseInline(part.title)
    return {
        "name": part.name,
        "level": part.level,
        "id": _unique(anchor(_words_in(heading[0])), taken),
        "title": Markup(_html(heading)),
        "html": Markup("".join(_pieces(part, labels, taken, written))),
        "is_folded": part.is_folded,
        "figure": Markup(part.figure.replace("<", "\\u003c")) if part.figure else "",
        "picture": Markup(part.picture),
    }


def _pieces(part: Part, labels: Mapping[str, str], taken: set[str], written: yours.Words) -> Iterator[str]:
    """The product's words and people's, each parsed by itself: what is left open in one ends with it."""
    for piece in yours.pieces(part.text, part.name):
        words = "" if piece.place is None else written.get(piece.place, "")
        if piece.place is None:
            yield _html(_dressed(_READER.parse(piece.text), labels, taken))
        elif words.strip():
            theirs = _lowered(_dressed(_READER.parse(yours.shown(words)), {}, taken), part.level)
            yield f'<div class="yours">\n{_html(theirs)}</div>\n'
        else:
            yield f'<p class="yours">{escape(piece.prompt)}</p>\n'


def _lowered(tokens: list[Token], level: int) -> list[Token]:
    """Headings that people wrote, below that of the section they stand in."""
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, max(level + 1, int(token.tag[1:])))}"
    return tokens


def _dressed(tokens: list[Token], labels: Mapping[str, str], taken: set[str]) -> list[Token]:
    """Headings get the fragments links use, columns of numbers their side, words for verdicts their label."""
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _unique(anchor(_words_in(tokens[place + 1])), taken))
        elif token.type in {"th_open", "td_open"} and token.attrs.pop("style", None) == "text-align:right":
            token.attrSet("class", "number")
        for opened, text in pairwise(token.children or ()):
            if opened.type == "strong_open" and text.content in labels:
                opened.attrSet("class", f"label {labels[text.content]}")
    return tokens


def _html(tokens: list[Token]) -> str:
    return str(_READER.renderer.render(tokens, _READER.options, {}))


def _words_in(inline: Token) -> str:
    return "".join(child.content for child in inline.children or () if child.type in {"text", "code_inline"})


def _unique(fragment: str, taken: set[str]) -> str:
    """As GitHub numbers them: the second `sources` is `sources-1`."""
    tried, count = fragment, 0
    while tried in taken:
        count += 1
        tried = f"{fragment}-{count}"
    taken.add(tried)
    return tried


@cache
def _packed(script: str) -> str:
    """4.8 MB of script as 2.0 MB of text, which the browser unpacks by itself."""
    return base64.b64encode(gzip.compress(script.encode(), 9, mtime=0)).decode()


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    reader.add_render_rule("table_open", lambda *_: '<div class="scroll"><table>\n')
    reader.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return reader


_READER = _reader()
