"""The rows of a query as text."""

import orjson
import polars as pl


def csv(rows: pl.DataFrame) -> str:
    """With a header; lists, structs and maps, which CSV has no form for, as JSON. No column: no text."""
    if not rows.width:
        return ""
    flat = [_as_json(column) if column.dtype.is_nested() else column for column in rows]
    return pl.DataFrame(flat).write_csv()


def json_lines(rows: pl.DataFrame) -> str:
    """An object a row."""
    return rows.write_ndjson()


def _as_json(column: pl.Series) -> pl.Series:
    texts = [
        None if value is None else orjson.dumps(value, default=str).decode() for value in column.to_list()
    ]
    return pl.Series(column.name, texts, dtype=pl.String)
