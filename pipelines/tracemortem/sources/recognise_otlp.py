"""Whether JSON is OTLP, by what was parsed of it or by how a document begins that is too long for that."""

import io
import re

import orjson

from tracemortem.sources.json_elements import elements
from tracemortem.sources.otlp_odd import WRAPPERS, unwrapped
from tracemortem.sources.otlp_shape import ENVELOPE
from tracemortem.sources.otlp_values import NotOtlpError

_AMBIGUOUS = "batches"  # so Tempo calls the resources of spans
_NAMES = {*ENVELOPE.fields, *ENVELOPE.others}
_OF_TEMPO = re.compile(r"""["'](?:scope_?[Ss]pans|instrumentation_?[Ll]ibrary_?[Ss]pans)["']""")
_BEGINS = re.compile(
    rf'\s*(?:\[\s*)?\{{\s*(?:"(?:{"|".join(WRAPPERS)})"\s*:\s*\{{\s*)?"(?P<name>{"|".join(sorted(_NAMES))})"'
)


def is_envelope(parsed: object) -> bool:
    """Whether a parsed document is an envelope of OTLP, or has one in it."""
    try:
        inner = unwrapped(parsed)
    except NotOtlpError:
        return False
    return (_NAMES & inner.keys()) != {_AMBIGUOUS} or bool(_OF_TEMPO.search(str(inner)))


def is_of_documents(text: str) -> bool:
    """Whether text that begins so holds envelopes, pretty-printed, in lists, or one after another."""
    depth = 1 if text.lstrip().startswith("[") else 0
    whole = (one.text for one in elements(io.BytesIO(text.encode()), lambda _: depth) if not one.fault)
    if (first := next(whole, None)) is not None:
        try:
            return is_envelope(orjson.loads(first))
        except orjson.JSONDecodeError:
            pass
    begins = _BEGINS.match(text)
    return begins is not None and (begins["name"] != _AMBIGUOUS or bool(_OF_TEMPO.search(text)))
