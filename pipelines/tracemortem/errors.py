"""What can go wrong, said so that somebody can act on it.

    TracemortemError        what, where, why, fix: four lines
        InputError          a file that cannot be read as what it is or claims to be
        SettingError        an option, threshold or window that makes no sense
        DefinitionError     a format, record, model, watch, hypothesis or section declared wrongly
        WarehouseError      the DuckDB file cannot be opened, upgraded or published

All of them are the user's to mend (exit code 1). Anything else that escapes is our own fault (exit code 2).
Faults inside an input do not raise: they are rejects, counted with file, line and reason.
"""


class TracemortemError(Exception):
    """An error a person can act on: what happened, where, why, and what to do about it."""

    def __init__(self, what: str, *, where: str, why: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}\n  where  {self.where}\n  why    {self.why}\n  fix    {self.fix}"


class InputError(TracemortemError):
    """A file that cannot be read as what it is or claims to be."""


class SettingError(TracemortemError):
    """An option, threshold or window that makes no sense."""


class DefinitionError(TracemortemError):
    """A format, record, model, watch, hypothesis or section that is declared wrongly."""


class WarehouseError(TracemortemError):
    """The DuckDB file cannot be opened, upgraded or published."""
