"""How does a string that a stranger may have written stand in Markdown without being obeyed?

User agents, paths, file names, log bodies and event texts end up in the report. Everything that is not
`Markdown` is taken for such a string. Two things are done to it: characters that hide, reorder or end text
are shown by name, and characters that Markdown (CommonMark, tables, GitHub's additions) reads as marks are
escaped.
"""

import re
import unicodedata

_BESIDE_ASCII = re.compile(r"[^\x20-\x7e]")
_MARKS = re.compile(r"[\\`*\[\]|~$]|(?<!\S)#|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BLOCK_AT_START = re.compile(r"^([=:]|[-+](?=[\s+-]|$)|\d+(?=[.)](?:\s|$)))")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class Markdown(str):
    """Text that is Markdown already: made by one of our own filters, never by data."""

    __slots__ = ()


def visible(text: str) -> str:
    """One line of text in which nothing is hidden.

    Control and format characters are shown by name, tabs and line ends as blanks: `\\x00` becomes
    ⟨U+0000⟩, a right-to-left override ⟨U+202E⟩. What is left can be encoded as UTF-8.
    """
    return _BESIDE_ASCII.sub(lambda found: _shown(found[0]), text)


def escaped(text: str) -> Markdown:
    """A string as Markdown that shows it and nothing else.

    It may stand at the start of a line, in a sentence or in a table.
    """
    shown = _MARKS.sub(r"\\\g<0>", visible(text).strip().translate(_ENTITIES))
    # GitHub makes links of bare addresses; a stranger's address shall be read, not followed.
    shown = shown.replace("://", r":\/\/").replace("www.", r"www\.")
    return Markdown(_BLOCK_AT_START.sub(_kept_in_line, shown))


def code(text: str) -> Markdown:
    """A string as a code span, for use in sentences. An empty one is shown as two quotation marks."""
    shown = visible(text) or '""'
    fence = "`" * (_longest_run(shown) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or shown != shown.strip() else ""
    return Markdown(f"{fence}{pad}{shown}{pad}{fence}")


def code_cell(text: str) -> Markdown:
    """A string as a code span inside a table, where a bare pipe would end the cell even in code."""
    return Markdown(code(text).replace("|", r"\|"))


def fenced(text: str, language: str = "") -> Markdown:
    """Several lines as a code block whose fence is longer than any inside it."""
    lines = "\n".join(visible(line) for line in text.strip("\n").split("\n"))
    fence = "`" * max(3, _longest_run(lines) + 1)
    return Markdown(f"{fence}{language}\n{lines}\n{fence}")


def anchor(heading: str) -> str:
    """The fragment under which GitHub, and our own page, find a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _shown(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    return f"⟨U+{ord(character):04X}⟩"


def _kept_in_line(found: re.Match[str]) -> str:
    """`- x`, `1. x` and `===` at the start of a line would open a list, or head the line before."""
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
