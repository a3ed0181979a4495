"""`nvidia-smi -q`, as text or with -x as XML, once or in a loop -> series of each GPU."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO
from xml.etree import ElementTree as ET

import polars as pl

from tracemortem.sources import blocks, points
from tracemortem.sources.batch import EXCERPT, Batch, rejected
from tracemortem.sources.catalogue import Catalogue
from tracemortem.sources.clock import Clock
from tracemortem.sources.points import Points

XML_BEGINS = "<nvidia_smi_log"
TEXT_BEGINS = re.compile(r"^=+NVSMI LOG=+\s*$")
_XML_ENDS = "</nvidia_smi_log>"
_STAMP = "%a %b %e %H:%M:%S %Y"
_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(?: (?:%|C|W|J|us|[KMG]i?B|[KM]B/s|MHz))?")
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9])\s*")
_PAIR = re.compile(r"(?P<key>[^:]*[^: ]) *: (?P<value>.*)")
# a simple DOCTYPE names a DTD that is never fetched; one with a part of its own could define entities
_DOCTYPE = re.compile(r"<!DOCTYPE\s+nvidia_smi_log\s+SYSTEM\s+\"[\w.]*\"\s*>")
# lists of what is possible, and parts that come several times: processes, MIG slices
_PASSED_OVER = re.compile(r"^(?:supported_clocks|processes|accounted_processes|mig_devices?|max_.*)(?:\.|$)")
_FAULTS = {"line": pl.UInt64(), "text": pl.String(), "reason": pl.String()}
_LONGEST = 1_000_000  # lines of one document

Gpu = tuple[str, Mapping[str, str]]


class BadLogError(Exception):
    """The document is none of nvidia-smi."""


@dataclass(frozen=True)
class Log:
    """One document: when, and what stands there of each GPU, by bus id and then by path."""

    stamp: str
    gpus: list[Gpu]


def read_xml(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The GPUs of each XML document as series nvidia_smi.<path of tags>; a GPU of a document is a record.

    clock   its zone is that of the timestamps, which carry none; a document without one gets its time

    A value that is no number (N/A, Enabled) gives no sample. A document that is malformed, defines entities
    or has no time is one record and a reject. Limits of clocks, processes and MIG slices are passed over.
    """
    return _read(stream, clock, lambda last, _: last.rstrip().endswith(_XML_ENDS), _xml)


def read_text(stream: BinaryIO, clock: Clock) -> Iterator[Batch]:
    """The same of the text that nvidia-smi -q prints: nvidia_smi.<headings in snake case>."""
    return _read(stream, clock, lambda _, line: TEXT_BEGINS.match(line) is not None, _text)


@dataclass
class _Taken:
    """The documents of one block, their samples by series: of those there are few to be made rows of."""

    samples: dict[tuple[str, str, str], list[tuple[int, datetime, float]]] = field(default_factory=dict)
    faults: list[tuple[int, str, str]] = field(default_factory=list)
    gpus: int = 0
    is_placed: bool = False
    rounds: int = 0

    def take(
        self, lines: list[str], line: int, parse: Callable[[list[str]], Log], clock: Clock, number: int
    ) -> None:
        """One document; its line is that where it begins, its number counts from 0."""
        self.rounds = number + 1
        try:
            log = parse(lines)
            at = _at(log.stamp, clock, number)
        except BadLogError as error:
            self.faults.append((line, " ".join(lines)[:EXCERPT], str(error)))
            return
        self.is_placed |= not log.stamp
        for bus, values in log.gpus:
            uuid = values.get("uuid") or values.get("gpu_uuid") or bus
            figures = {
                path: float(figure[1])
                for path, text in values.items()
                if (figure := _NUMBER.fullmatch(text)) and not _PASSED_OVER.match(path)
            }
            if not figures:
                self.faults.append((line, bus[:EXCERPT], "no number stands under this GPU"))
                continue
            self.gpus += 1
            for path, value in figures.items():
                self.samples.setdefault((path, bus, uuid), []).append((line, at, value))

    def batch(self, size: int, catalogue: Catalogue, clock: Clock) -> Batch:
        """What was taken."""
        found = []
        for (path, bus, uuid), samples in self.samples.items():
            line, at, value = (pl.Series(column) for column in zip(*samples, strict=True))
            labels = {"pci_bus_id": bus, "UUID": uuid}
            found.append(Points(f"nvidia_smi.{path}", labels, line, at, value))
        rejects = rejected(pl.DataFrame(self.faults, schema=_FAULTS, orient="row"))
        rows = points.rows(found, catalogue)
        source = clock.source if self.is_placed else ""
        return Batch(rows, rejects, self.gpus + len(self.faults), size, self.gpus, source, self.rounds)


def _read(
    stream: BinaryIO, clock: Clock, ends: Callable[[str, str], bool], parse: Callable[[list[str]], Log]
) -> Iterator[Batch]:
    """The documents; ends(last, line) says whether line begins the next one, last being the one before."""
    catalogue = Catalogue()
    held: list[str] = []
    first, last, number = 1, "", 0
    for block in blocks.blocks(stream):
        if block.overlong is not None:
            yield points.overlong(block)
            continue
        taken = _Taken()
        # a line at a time: a document is some hundred lines, and comes once a second at most
        for line, text in blocks.lines(block).iter_rows():
            if not text.strip():
                continue
            if held and (ends(last, text) or len(held) >= _LONGEST):
                taken.take(held, first, parse, clock, number)
                held, number = [], number + 1
            if not held:
                first = line
            held.append(text)
            last = text
        yield taken.batch(block.bytes_read, catalogue, clock)
    if held:
        taken = _Taken()
        taken.take(held, first, parse, clock, number)
        yield taken.batch(0, catalogue, clock)


def _at(stamp: str, clock: Clock, number: int) -> datetime:
    frame = pl.DataFrame({"stamp": [stamp], "number": [number]})
    if stamp:
        written = frame.select(clock.local(pl.col("stamp"), _STAMP)).item()
    else:  # of a version that did not say, or masked
        written = frame.select(clock.at(pl.col("number"))).item()
    if isinstance(written, datetime):
        return written
    if stamp:
        raise BadLogError(f"the timestamp is no local time: {stamp[:40]}")
    raise BadLogError(frame.select(clock.lacking(pl.col("number"), "document")).item())


def _xml(lines: list[str]) -> Log:
    text = _DOCTYPE.sub("", "\n".join(lines))
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise BadLogError("it defines entities, or a DTD of its own, and is not read for safety")
    try:
        root = ET.fromstring(text)  # what could harm was refused above
    except ET.ParseError as error:
        raise BadLogError(f"no whole XML document: {error}") from error
    if root.tag != "nvidia_smi_log":
        raise BadLogError(f"a document of another kind: {root.tag[:40]}")
    return Log(
        root.findtext("timestamp", ""),
        [(gpu.get("id", ""), dict(_leaves(gpu, ""))) for gpu in root.findall("gpu")],
    )


def _leaves(element: ET.Element, path: str) -> Iterator[tuple[str, str]]:
    for child in element:
        own = f"{path}.{child.tag}" if path else child.tag
        if len(child):
            yield from _leaves(child, own)
        else:
            yield own, (child.text or "").strip()


def _text(lines: list[str]) -> Log:
    stamp, gpus = "", list[Gpu]()
    values: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in lines:
        if gpu := _GPU.fullmatch(line):
            values, above = {}, []
            gpus.append((gpu[1], values))
            continue
        pair = _PAIR.fullmatch(line.strip())
        if not gpus:
            stamp = pair["value"].strip() if pair and pair["key"] == "Timestamp" else stamp
            continue
        depth = len(line) - len(line.lstrip())
        above = [entry for entry in above if entry[0] < depth]
        name = re.sub(r"[^a-z0-9]+", "_", (pair["key"] if pair else line).strip().lower()).strip("_")
        if pair:
            path = ".".join([*(heading for _, heading in above), name])
            values.setdefault(path, pair["value"].strip())
        else:
            above.append((depth, name))
    if not gpus:
        raise BadLogError("no GPU stands in it")
    return Log(stamp, gpus)
