"""Rows to tables, tables to marts: the one DuckDB file, what is built in it, how readers get it."""
