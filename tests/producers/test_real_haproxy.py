"""Requests sent through a real HAProxy are the rows read from its log, one by one, in three forms."""

import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tracemortem.sources.clock import Told
from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

ZONE = "America/New_York"  # HAProxy writes the time of its machine, and no zone
CONFIGURATION = """
global
    log 127.0.0.1:{syslog} format {header} local0
defaults
    mode http
    log global
    option dontlognull
    retries 1
    timeout connect 100ms
    timeout client 5s
    timeout server 5s
frontend gateway
    bind 127.0.0.1:{port}
    {captures}
    option {log}
    use_backend dead if {{ path_beg /dead }}
    use_backend own if {{ path_beg /own }}
    default_backend engines
backend engines
    server engine1 127.0.0.1:{live}
backend dead
    server engine2 127.0.0.1:{dead}
backend own
    http-request return status 403
"""
CAPTURES = "capture request header User-Agent len 100\n    capture response header Content-Length len 9"
# method, target, user agent -> path, status, server
REQUESTS = [
    (b"GET", b"/status/200", b"curl/8.5.0", "/status/200", 200, "engines/engine1"),
    (b"POST", b"/v1/completions?x=1&y=%22", b'say "hi" \\ there', "/v1/completions", 200, "engines/engine1"),
    (b"GET", b"/status/404", "Müller 模型".encode(), "/status/404", 404, "engines/engine1"),
    (b"GET", b'/caf%C3%A9/a"b', b"{} | {a}", '/caf%C3%A9/a"b', 200, "engines/engine1"),
    (b"GET", b"/caf\xc3\xa9", b"a", None, 400, None),  # no request to HAProxy
    (b"GET", b"/slow/0.25", None, "/slow/0.25", 200, "engines/engine1"),
    (b"GET", b"/dead", b"a", "/dead", 503, "dead/engine2"),
    (b"GET", b"/own", b"a", "/own", 403, None),
]


@pytest.mark.parametrize(
    ("header", "log", "captures"),
    [("raw", "httplog", ""), ("rfc3164", "httplog", CAPTURES), ("rfc5424", "httpslog", CAPTURES)],
    ids=["bare", "captured headers behind syslog", "TLS fields behind the newer syslog"],
)
def test_every_request_is_a_row(tmp_path: Path, upstream, port, started, ask, header, log, captures):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as syslog:
        syslog.bind(("127.0.0.1", 0))
        syslog.settimeout(10)
        listens = port()
        text = CONFIGURATION.format(
            syslog=syslog.getsockname()[1],
            header=header,
            captures=captures,
            log=log,
            port=listens,
            live=upstream.server_port,
            dead=port(),
        )
        configuration = tmp_path / "haproxy.cfg"
        configuration.write_text(text, encoding="utf-8")
        environment = {**os.environ, "TZ": ZONE}
        started("haproxy", "-db", "-f", configuration, listens=listens, env=environment)
        began = datetime.now(UTC)
        written = []
        for method, target, agent, _, status, _ in REQUESTS:
            assert ask(listens, method, target, agent) == status
            line = b""
            while b"] gateway " not in line:  # what it says besides, such as that it started
                line = syslog.recv(65536)
            written.append(line.rstrip(b"\n"))
        ended = datetime.now(UTC)
    path = tmp_path / "haproxy.log"
    path.write_bytes(b"\n".join(written) + b"\n")
    (found,) = survey([str(path)])
    (batch,) = read(found, Told(timezone=ZONE))
    got = batch.rows["access"]
    assert (found.format, batch.rejects.to_dicts()) == ("haproxy_http", [])
    assert got.select("peer_address", "method", "path", "status", "upstream_address").rows() == [
        ("127.0.0.1", method.decode() if path is not None else None, path, status, server)
        for method, _, _, path, status, server in REQUESTS
    ]
    assert got["started_at"].is_between(began - timedelta(milliseconds=1), ended).all()
    slow = got.row(5, named=True)
    assert 0.25 <= slow["ttft_s"] <= slow["duration_s"] < 5
