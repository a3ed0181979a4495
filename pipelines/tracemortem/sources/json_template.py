"""The template of JSON lines that all have the same keys in the same order, made of one of them.

Servers write each line of a log by one format, so what stands between the values is the same in all of them.
A line that is written otherwise, or holds escapes, is left to the JSON parser.
"""

import re
from collections.abc import Collection, Sequence

import orjson

from tracemortem.sources.readings import Reading
from tracemortem.sources.template import ESCAPES, JSON, NO_NULL, WHOLE, Shape, Template, arrays

_TRIED = 20
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def json_template(text: bytes, needs: Collection[str], readings: Sequence[Reading]) -> Template | None:
    """The template of the first line that has one; None where none of the first lines has.

    text   lines, valid UTF-8
    needs  paths that a line must hold, and not as null
    """
    for line in text.split(b"\n", _TRIED)[:_TRIED]:
        made = _of_line(line.rstrip(b"\r \t"), needs, readings)
        if made is not None:
            return made
    return None


def _of_line(line: bytes, needs: Collection[str], readings: Sequence[Reading]) -> Template | None:
    try:
        is_object = isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return None
    if not is_object or b"[" in _TOKEN.findall(line):  # the length of a list varies
        return None
    scalars, objects = _taken_apart(line)
    wanted = {path for reading in readings for path in (reading.group, reading.minus) if path}
    paths = [path for path, _, _ in scalars]
    above = {path.rsplit(".", up)[0] for path in wanted.union(needs) for up in range(1, path.count(".") + 1)}
    if (
        len(set(paths)) < len(paths)
        or wanted.isdisjoint(paths)
        or not set(needs).issubset(paths)
        or objects.intersection(wanted.union(needs))
        or above.intersection(paths)
    ):
        return None
    literals, fields, end = [], [], 0
    for path, begin, stop in scalars:
        literals.append(line[end:begin])
        fields.append((path if path in wanted else None, _shape(path, needs, readings)))
        end = stop
    return arrays([*literals, line[end:]], fields)


def _shape(path: str, needs: Collection[str], readings: Sequence[Reading]) -> Shape:
    of = [reading for reading in readings if path in {reading.group, reading.minus}]
    least = NO_NULL * (path in needs) | ESCAPES * (not of)
    return Shape(JSON, least=least | WHOLE * (not all(reading.is_number for reading in of)))


def _taken_apart(line: bytes) -> tuple[list[tuple[str, int, int]], set[str]]:
    """Path, begin and end of each text, number, true, false and null of an object; paths of objects in it."""
    scalars, objects, inside = [], set(), list[str]()
    key, before = "", b""
    for token in _TOKEN.finditer(line):
        word = token[0]
        if before == b":":
            path = ".".join([*inside, key])
            if word == b"{":
                inside.append(key)
                objects.add(path)
            else:
                scalars.append((path, token.start(), token.end()))
        elif word == b"}":
            del inside[-1:]
        elif before in {b"{", b","}:
            key = str(orjson.loads(word)).replace(".", "\0")  # a path goes on at a point, and a key does not
        before = word
    return scalars, objects
