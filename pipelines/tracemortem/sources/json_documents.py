"""The JSON documents of a file: one, or several one after another with text between."""

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from tracemortem.sources.batch import EXCERPT

_BEGINS = re.compile(r"^\s*[{\[]", re.MULTILINE)


def documents(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Each document with the line where it begins, from 1; what is broken as the text it begins with."""
    try:
        yield 1, orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    else:
        return
    text, decoder, position, line, counted = raw.decode("utf-8", "replace"), json.JSONDecoder(), 0, 1, 0
    while begins := _BEGINS.search(text, position):
        start = begins.end() - 1
        line, counted = line + text.count("\n", counted, start), start
        try:
            document, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # no JSON, or a number of more digits than Python takes
            yield line, text[start : start + EXCERPT]
            position = len(text) if (end := text.find("\n", start)) < 0 else end
        else:
            yield line, _encodable(document)


def _encodable(document: Any) -> Any:
    """The document without halves of surrogate pairs, which JSON may name and UTF-8 cannot hold."""
    text = json.dumps(document, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-8", "replace"))
    return document


def shown(what: object) -> str:
    """A value as the excerpt of a reject."""
    return json.dumps(what, ensure_ascii=False)[:EXCERPT]
