"""Requests sent through a real nginx are the rows read from its logs, one by one, in three formats."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

CONFIGURATION = r"""
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.err;
worker_processes 1;
events {{ worker_connections 64; }}
http {{
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    log_format llm '$remote_addr - $remote_user [$time_iso8601] "$request" $status $body_bytes_sent '
                   '"$http_user_agent" rt=$request_time uht=$upstream_header_time '
                   'urt=$upstream_response_time ua="$upstream_addr" id=$request_id';
    log_format json escape=json '{{"msec":"$msec","peer":"$remote_addr","request":"$request",'
                   '"status":$status,"bytes":$body_bytes_sent,"agent":"$http_user_agent",'
                   '"took":$request_time,"headers":"$upstream_header_time","upstream":"$upstream_response_time",'
                   '"tried":"$upstream_addr","id":"$request_id"}}';
    access_log {folder}/logs/combined.log;
    access_log {folder}/logs/llm.log llm;
    access_log {folder}/logs/json.log json;
    upstream one {{ server 127.0.0.1:{live}; }}
    upstream second_try {{ server 127.0.0.1:{dead} max_fails=0; server 127.0.0.1:{live} backup; }}
    upstream none {{ server 127.0.0.1:{dead}; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://one; }}
        location /retried {{ proxy_pass http://second_try; }}
        location /dead {{ proxy_pass http://none; }}
        location /own {{ return 204; }}
    }}
}}
"""
# method, target, user agent, body -> path, user agent, status, upstreams tried
REQUESTS = [
    (b"GET", b"/status/200", b"curl/8.5.0", b"", "/status/200", "curl/8.5.0", 200, 1),
    (b"POST", b"/v1/completions?x=1&y=%22", b"a", b"{}", "/v1/completions", "a", 200, 1),
    (b"GET", b"/status/404", b'say "hi" \\ there', b"", "/status/404", 'say "hi" \\ there', 404, 1),
    (b"GET", b"/status/503", "Müller 模型 🚀".encode(), b"", "/status/503", "Müller 模型 🚀", 503, 1),
    (b"GET", b"/caf\xc3\xa9/%C3%A9", b"-", b"", "/café/%C3%A9", None, 200, 1),
    (b"GET", b'/a"b\\c', b"tab\there", b"", '/a"b\\c', "tab\there", 200, 1),
    (b"GET", b"/slow/0.25", b"a, b : c | d", b"", "/slow/0.25", "a, b : c | d", 200, 1),
    (b"GET", b"/retried/1", b"{} [] %s \\x22", b"", "/retried/1", "{} [] %s \\x22", 200, 2),
    (b"GET", b"/dead", None, b"", "/dead", None, 502, 1),
    (b"GET", b"/own", b"\xff\xfe", b"", "/own", "\ufffd\ufffd", 204, None),
]


@pytest.fixture
def logs(tmp_path, upstream, port, started, ask, wait) -> tuple[Path, datetime, datetime]:
    """The folder with nginx's logs and configuration after all requests, and when they began and ended."""
    folder = tmp_path / "nginx"
    (folder / "logs").mkdir(parents=True)
    listens = port()
    text = CONFIGURATION.format(folder=folder, live=upstream.server_port, dead=port(), port=listens)
    (folder / "logs" / "nginx.conf").write_text(text, encoding="utf-8")
    started("nginx", "-p", folder, "-c", folder / "logs" / "nginx.conf", listens=listens)
    began = datetime.now(UTC)
    for method, target, agent, body, _, _, status, _ in REQUESTS:
        assert ask(listens, method, target, agent, body) == status
    ended = datetime.now(UTC)
    names = ("combined", "llm", "json")
    wait(
        lambda: all(
            (folder / "logs" / f"{name}.log").read_bytes().count(b"\n") == len(REQUESTS) for name in names
        ),
        "nginx wrote every line",
    )
    return folder / "logs", began, ended


def rows(folder: Path, name: str) -> tuple[str, pl.DataFrame]:
    (found,) = [one for one in survey([str(folder)]) if one.shown == name]
    batches = list(read(found))
    assert [batch.rejects.to_dicts() for batch in batches] == [[]]
    return found.format, batches[0].rows["access"]


def test_every_request_is_a_row_with_what_was_sent(logs):
    folder, began, ended = logs
    formats = {}
    for name in ("combined.log", "llm.log", "json.log"):
        formats[name], got = rows(folder, name)
        expected = [
            ("127.0.0.1", method.decode(), path, agent, status)
            for method, _, _, _, path, agent, status, _ in REQUESTS
        ]
        seen = got.select("peer_address", "method", "path", "user_agent", "status").rows()
        assert (name, seen) == (name, expected)
        second = timedelta(seconds=1)  # what two of the formats round to
        assert got["finished_at"].is_between(began - second, ended + second).all()
    assert formats == {
        "combined.log": "nginx_combined",
        "llm.log": "nginx:llm",
        "json.log": "nginx:json",
    }


def test_both_formats_of_our_own_say_the_same_of_upstreams_and_times(logs):
    folder, _, _ = logs
    columns = ["upstream_attempts", "duration_s", "ttft_s", "upstream_s", "request_id", "bytes_sent"]
    text, encoded = rows(folder, "llm.log")[1], rows(folder, "json.log")[1]
    assert text.select(columns).rows() == encoded.select(columns).rows()
    assert text["upstream_attempts"].to_list() == [tried for *_, tried in REQUESTS]
    slow = text.filter(pl.col("path") == "/slow/0.25").row(0, named=True)
    # nginx reads each time off a clock that moves on once per turn of its loop, and cuts it to a millisecond
    tick = 0.002
    assert 0.25 - tick <= slow["ttft_s"] <= slow["upstream_s"] + tick <= slow["duration_s"] + 2 * tick < 5
