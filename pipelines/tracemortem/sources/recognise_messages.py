"""Whether a file holds export requests of OTLP that are no lines, by how it begins."""

import re

from tracemortem.sources import otlp_frames
from tracemortem.sources.opened import HEAD
from tracemortem.sources.otlp_frames import RESOURCE

_JSON_BEGINS = re.compile(rb'\{\s*"resource_?(?:Spans|Metrics|Logs|spans|metrics|logs)"')


def begins(head: bytes) -> tuple[str, str] | None:
    """The format of a file of export requests that begins so, and why it is taken for that; else None."""
    body, is_whole, is_packed = otlp_frames.first(head)
    how = "length-prefixed messages, each compressed by zstd," if is_packed else "length-prefixed messages"
    # a first frame that reaches past the head cannot be parsed yet; how it begins has to do
    if body.startswith(RESOURCE) and (not is_whole or _is_request(body)):
        return (
            "otlp_framed" if is_packed else "otlp_protobuf",
            f"{how} that parse as OTLP export requests",
        )
    if _JSON_BEGINS.match(body):
        return "otlp_framed", f"{how} that are OTLP as JSON"
    if is_packed and not body and not is_whole:
        return "otlp_framed", f"{how} as the Collector writes them"
    if _is_bare(head):
        return "otlp_protobuf_bare", "one message that parses as an OTLP export request"
    return None


def _is_bare(head: bytes) -> bool:
    """Whether a message begins here, parsed in full if it is there in full, else its first resource."""
    if not head.startswith(RESOURCE):
        return False
    if len(head) < HEAD:
        return _is_request(head)
    from tracemortem.sources.otlp_message import is_resource

    return is_resource(otlp_frames.first_resource(head))


def _is_request(body: bytes) -> bool:
    # here, as most files are none, and the messages cost 0.05 CPU s to import
    from tracemortem.sources.otlp_message import parsed

    return parsed(body) is not None
