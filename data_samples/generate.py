"""Writes a recording of one night of an LLM service: simulated, the same bytes for the same arguments.

    python data_samples/generate.py --out DIR [--seed N] [--scale S] [--hours H] [--quiet-only]

README.md beside this file says what is in a recording and what was planted in it. Everything is written as it
is simulated, 5 s at a time: memory grows with the number of replicas, not with the length of the night.
"""

import argparse
import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TextIO

import names
from accesslog import LOG_FORMAT, write_lines
from diagnostics import Diagnostics
from engine import Replica
from gateway import Gateway
from gpus import Gpu
from plan import HOURS, SCRAPE_S, WARM_UP_AT, Plan
from readings import Window
from scrapes import Node, engine_page, gpu_page, scraped_at, write_page
from spans import Ledger, write_spans
from story import write_events
from traffic import Feed

SEED = 32
STEP_S = 5
OLD_XID = (31, "GPU memory page fault")  # of an application, weeks before the recording


def main(arguments: list[str]) -> int:
    """Write what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write into; made if missing")
    parser.add_argument("--seed", type=int, default=SEED, help="another night of the same kind")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="factor on requests and replicas; 1 is 3 replicas"
    )
    parser.add_argument("--hours", type=float, default=HOURS, help="length of the recording")
    parser.add_argument("--quiet-only", action="store_true", help="the same night without the batch")
    given = parser.parse_args(arguments)
    if given.scale <= 0 or given.hours <= 0:
        parser.error("--scale and --hours must be more than 0")
    generate(given.out, Plan(given.seed, given.scale, given.hours, not given.quiet_only))
    return 0


@dataclass
class Files:
    """The files of a recording, open for writing."""

    spans: TextIO
    access: TextIO
    gpu: TextIO
    engine: TextIO
    diagnostics: TextIO
    node: TextIO


def generate(out: Path, plan: Plan) -> None:
    """Simulate a night and write it into the folder."""
    for folder in ("otel", "nginx", "dcgm", "vllm", "diagnostics", "host"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    (out / "nginx/log_format.conf").write_text(LOG_FORMAT)
    with (out / "events.jsonl").open("w") as events:
        write_events(events, plan)
    with ExitStack() as stack:
        files = Files(
            *(
                stack.enter_context(_compressed(out / name))
                for name in (
                    "otel/spans.jsonl.gz",
                    "nginx/access.log.gz",
                    "dcgm/gpu.prom.gz",
                    "vllm/metrics.prom.gz",
                    "diagnostics/engine.jsonl.gz",
                    "host/node.prom.gz",
                )
            )
        )
        _simulate(plan, files)


@contextmanager
def _compressed(path: Path) -> Iterator[TextIO]:
    """A gzip file that holds neither its name nor the time, so that its bytes depend on its text alone."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=9, mtime=0) as packed,
        io.TextIOWrapper(io.BufferedWriter(packed, 1 << 20), encoding="utf-8", newline="\n") as text,
    ):
        yield text


@dataclass
class Fleet:
    """What is read every 15 s: engines, their GPUs, and the hosts, the gateway's first."""

    replicas: list[Replica]
    gpus: list[Gpu]
    nodes: list[Node]
    diagnostics: Diagnostics

    def scrape(self, files: Files, at: int) -> None:
        """Read every target, and begin a new window."""
        lookups = tokens = 0
        for number, (replica, gpu) in enumerate(zip(self.replicas, self.gpus, strict=True)):
            window, replica.window = replica.window, Window()
            lookups += window.lookups
            tokens += window.queried_tokens
            gpu.observe(window)
            self.nodes[1 + number].carry(window.lookups, window.queried_tokens)
            write_page(files.engine, engine_page(number, replica), scraped_at(at, number))
            write_page(files.gpu, gpu_page(number, gpu), scraped_at(at, number + 5))
            self.diagnostics.write(files.diagnostics, number, replica, window, at)
        self.nodes[0].carry(lookups, tokens)
        for target, node in enumerate(self.nodes):
            write_page(files.node, node.page(), scraped_at(at, target + 2))


def _simulate(plan: Plan, files: Files) -> None:
    def rng(purpose: str) -> Random:
        return Random(f"{plan.seed}/{purpose}")

    each = range(plan.replicas)
    fleet = Fleet(
        [Replica(Feed(one, rng(f"traffic/{one}"), plan), WARM_UP_AT) for one in each],
        [Gpu(rng(f"gpu/{one}"), *(OLD_XID if one == 1 else (0, "No Error"))) for one in each],
        [Node(name, rng(f"node/{name}")) for name in (names.GATEWAY_HOST, *map(names.host, each))],
        Diagnostics(plan.replicas),
    )
    gateway, ledger, access_rng = Gateway(rng("gateway")), Ledger(rng("ledger"), plan.replicas), rng("access")
    for replica in fleet.replicas:
        replica.advance(0)
        replica.window = Window()
    for at in range(STEP_S, plan.scrapes * SCRAPE_S + 1, STEP_S):
        for number, replica in enumerate(fleet.replicas):
            replica.advance(at)
            for request in replica.refused:
                gateway.refused(number, request)
            for finished in replica.done:
                gateway.answered(number, finished)
            replica.refused.clear()
            replica.done.clear()
        exchanges = [one for one in gateway.ended_by(at) if one.ended_ms >= 0]
        write_spans(files.spans, exchanges, list(ledger.spans(at)))
        write_lines(files.access, exchanges, access_rng, from_ms=1000 * (at - STEP_S), to_ms=1000 * at)
        if at % SCRAPE_S == 0:
            fleet.scrape(files, at)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
