"""What can go wrong, said so that somebody can act on it.

    TracemortemError        what, where, why, fix: four lines
        InputError          a file that cannot be read as what it is or claims to be
        SettingError        an option, threshold or window that makes no sense
        DefinitionError     a format, record, model, watch, hypothesis or section declared wrongly
        WarehouseError      the DuckDB file cannot be opened, upgraded or published

All of them are the user's to mend (exit code 1). Anything else that escapes is our own fault (exit code 2).
Faults inside an input do not raise: they are rejects, counted with file, line and reason.
"""


def printable(text: str) -> str:
    """A text that may hold parts of the data: control characters are shown, not sent to the terminal."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


class TracemortemError(Exception):
    """An error a person can act on: what happened, where, why, and what to do about it."""

    def __init__(self, what: str, *, where: str, why: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        lines = (self.what, f"  where  {self.where}", f"  why    {self.why}", f"  fix    {self.fix}")
        return "\n".join(printable(" ".join(line.split("\n"))) for line in lines)


class InputError(TracemortemError):
    """A file that cannot be read as what it is or claims to be."""


class SettingError(TracemortemError):
    """An option, threshold or window that makes no sense."""


class DefinitionError(TracemortemError):
    """A format, record, model, watch, hypothesis or section that is declared wrongly."""


class WarehouseError(TracemortemError):
    """The DuckDB file cannot be opened, upgraded or published."""
