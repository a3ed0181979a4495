"""The gateway's access log, in a format of its own, and the directive that says so."""

from random import Random
from typing import TextIO

import names
from clients import LOAD_BALANCERS
from gateway import Exchange
from plan import unix_ms

LOG_FORMAT = """\
log_format counsel '$msec $request_id $remote_addr "$http_x_forwarded_for" $host "$request" $status '
                   '$request_time $upstream_header_time $upstream_response_time $upstream_addr '
                   '$body_bytes_sent "$http_user_agent"';
"""
HEALTH_EVERY_MS = 30_000


def write_lines(out: TextIO, exchanges: list[Exchange], rng: Random, *, from_ms: int, to_ms: int) -> None:
    """The requests that ended in a stretch of time, and the load balancers' health checks in it, in order."""
    lines = [(one.ended_ms, _line(one, rng)) for one in exchanges]
    for number, peer in enumerate(LOAD_BALANCERS):
        at_ms = number * 10_000 + 4_321
        at_ms += -(-(from_ms - at_ms) // HEALTH_EVERY_MS) * HEALTH_EVERY_MS
        if at_ms < to_ms:
            lines.append((at_ms, _health(at_ms, peer, number)))
    lines.sort(key=lambda line: line[0])
    out.writelines(text for _, text in lines)


def _line(one: Exchange, rng: Random) -> str:
    client = one.request.client
    lasted = f"{(one.ended_ms - one.started_ms) / 1000:.3f}"
    if one.finished is None:
        upstream, sent = "- - -", 157
    else:
        upstream = f"{one.header_ms / 1000:.3f} {one.upstream_ms / 1000:.3f} {names.upstream(one.replica)}"
        sent = 396 + 218 * one.request.output_tokens + rng.randrange(8)
    return _format(
        one.ended_ms,
        names.trace_id(names.GATEWAY, one.started_ms, one.number),
        f'{client.peer} "{client.forwarded_for or "-"}"',
        "POST /v1/chat/completions",
        f"{one.request.status} {lasted} {upstream} {sent}",
        client.user_agent,
    )


def _health(at_ms: int, peer: str, number: int) -> str:
    request_id = names.trace_id(names.HEALTH, at_ms, at_ms + number)
    return _format(at_ms, request_id, f'{peer} "-"', "GET /healthz", "200 0.000 - - - 2", "lb-health/1.0")


def _format(ended_ms: int, request_id: str, client: str, request: str, numbers: str, agent: str) -> str:
    seconds, milliseconds = divmod(unix_ms(0) + ended_ms, 1000)
    return (
        f'{seconds}.{milliseconds:03d} {request_id} {client} {names.VIRTUAL_HOST} "{request} HTTP/1.1" '
        f'{numbers} "{agent}"\n'
    )
