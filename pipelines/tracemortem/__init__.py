"""Postmortems of LLM-serving incidents from the files people have afterwards."""

__version__ = "0.1.0"
