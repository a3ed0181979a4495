"""Real servers on loopback: started for a test, on ports that are free, and killed at its end."""

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

PATIENCE_S = 20.0


def await_(is_so: Callable[[], bool], what: str) -> None:
    """Wait until something is so. raises AssertionError after PATIENCE_S."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, f"not within {PATIENCE_S:.0f} s: {what}"
        time.sleep(0.02)


@pytest.fixture
def wait() -> Callable[[Callable[[], bool], str], None]:
    """The function that waits for a condition."""
    return await_


@pytest.fixture
def port() -> Callable[[], int]:
    """A function: a TCP port of loopback that nobody uses."""

    def free() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    return free


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """A function that starts a program and waits until it listens; each is killed at the end of the test."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*command: str | Path, listens: int, env: dict[str, str] | None = None) -> None:
        program = _program(str(command[0]))
        said = tmp_path / f"{Path(program).name}.said"
        with said.open("wb") as stream:
            process = subprocess.Popen(
                [program, *command[1:]], stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=env
            )
        running.append(process)

        def listening() -> bool:
            assert process.poll() is None, said.read_text(errors="replace")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", listens)) == 0

        await_(listening, f"{command[0]} listens")

    yield start
    for process in running:
        process.terminate()
    for process in running:
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class _Answer(BaseHTTPRequestHandler):
    """Answers with the status that the path names, after the time it names: /status/404, /slow/0.2."""

    bodies: ClassVar[list[tuple[str, str, bytes]]] = []

    def do_GET(self) -> None:
        status, wait_s = 200, 0.0
        match self.path.partition("?")[0].split("/"):
            case ["", "status", number]:
                status = int(number)
            case ["", "slow", seconds]:
                wait_s = float(seconds)
        received = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if received:
            self.bodies.append((self.path, self.headers.get("Content-Encoding", ""), received))
        time.sleep(wait_s)
        self.send_response(status)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    do_POST = do_GET  # noqa: N815  the name is given

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def upstream() -> Iterator[ThreadingHTTPServer]:
    """A server to stand behind proxies; `bodies` of its handler are the (path, encoding, body) received."""
    handler = type("Answer", (_Answer,), {"bodies": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def ask() -> Callable[..., int]:
    """A function that sends one request as bytes, so that anything may stand in it; returns the status."""

    def send(to: int, method: bytes, target: bytes, agent: bytes | None, body: bytes = b"") -> int:
        head = [method + b" " + target + b" HTTP/1.1", b"Host: llm.example", b"Connection: close"]
        if agent is not None:
            head.append(b"User-Agent: " + agent)
        if body:
            head.append(b"Content-Length: %d" % len(body))
        with socket.create_connection(("127.0.0.1", to), timeout=PATIENCE_S) as connection:
            connection.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
            answer = b""
            while received := connection.recv(65536):
                answer += received
        return int(answer.split(b" ", 2)[1])

    return send


@pytest.fixture
def tool() -> Callable[[str], str]:
    """A function: where a program is; the test is skipped where it is not installed."""
    return _program


@pytest.fixture
def promtool(tmp_path: Path, tool: Callable[[str], str]) -> Callable[..., bytes]:
    """A function that runs promtool in the folder of the test and returns what it prints."""
    program = tool("promtool")

    def run(*arguments: str) -> bytes:
        done = subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()
        return done.stdout

    return run


def _program(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/bin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found
