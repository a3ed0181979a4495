"""Requests answered by a real uvicorn are the rows read from its access lines, one by one."""

import asyncio
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvicorn

from tracemortem.sources.clock import Told
from tracemortem.sources.find import survey
from tracemortem.sources.registry import read

# method, target -> path, status
REQUESTS = [
    (b"GET", b"/v1/models", "/v1/models", 200),
    (b"POST", b"/v1/completions?x=1", "/v1/completions", 200),
    (b"GET", b"/missing", "/missing", 404),
    (b"GET", b"/caf%C3%A9/a%20b", "/caf%C3%A9/a%20b", 200),
    (b"GET", b"/slow", "/slow", 200),
    (b"GET", b"/busy", "/busy", 503),
]


async def app(scope: dict[str, Any], _: object, send: Any) -> None:
    """Answers by path."""
    status = {"/missing": 404, "/busy": 503}.get(scope["path"], 200)
    await asyncio.sleep(0.2 if scope["path"] == "/slow" else 0)
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def configuration(log: Path) -> dict[str, Any]:
    """uvicorn's own, with the time before its lines, as SGLang sets it."""
    form = '[%(asctime)s] %(levelprefix)s %(client_addr)s - "%(request_line)s" %(status_code)s'
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "access": {
                "()": "uvicorn.logging.AccessFormatter",
                "fmt": form,
                "datefmt": "%Y-%m-%d %H:%M:%S",
                "use_colors": True,
            }
        },
        "handlers": {
            "file": {
                "class": "logging.FileHandler",
                "filename": str(log),
                "formatter": "access",
                "encoding": "utf-8",
            }
        },
        "loggers": {"uvicorn.access": {"handlers": ["file"], "level": "INFO", "propagate": False}},
    }


def test_every_request_is_a_row(tmp_path: Path, ask, wait):
    log = tmp_path / "server.log"
    settings = uvicorn.Config(app, lifespan="off", log_config=configuration(log))
    server = uvicorn.Server(settings)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            wait(lambda: server.started, "uvicorn serves")
            began = datetime.now(UTC)
            for method, target, _, status in REQUESTS:
                assert ask(listener.getsockname()[1], method, target, b"a") == status
            ended = datetime.now(UTC)
        finally:
            server.should_exit = True
            thread.join(10)
    (found,) = survey([str(log)])
    # its clock is that of this machine: the offset of now stands for its zone, which need not have a name
    ahead = timedelta(seconds=time.localtime().tm_gmtoff)
    (batch,) = read(found, Told(timezone="UTC"))
    got = batch.rows["access"]
    assert (found.format, batch.rejects.to_dicts()) == ("uvicorn", [])
    assert got.select("peer_address", "method", "path", "status").rows() == [
        ("127.0.0.1", method.decode(), path, status) for method, _, path, status in REQUESTS
    ]
    assert (got["finished_at"] - ahead).is_between(began - timedelta(seconds=1), ended).all()
