"""Step 1: files into raw tables, each whole or not at all, each content once."""

import hashlib
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path

import orjson
import polars as pl

from tracemortem import __version__
from tracemortem.errors import InputError
from tracemortem.progress import stage
from tracemortem.settings import Settings, instant, networks
from tracemortem.sources import addresses, find, registry
from tracemortem.sources.clock import Told
from tracemortem.steps import opened
from tracemortem.steps.look import is_without_rows, no_row
from tracemortem.warehouse.store import Store

_BLOCK = 1 << 20


def load(settings: Settings) -> float:
    """Load every input that is not loaded yet; returns the share of all their records that are rejects.

    raises   InputError for what cannot be read as what it is, WarehouseError if the file is in use
    """
    found = find.survey(settings.inputs)
    start = None if settings.start is None else instant(settings.start, settings.timezone, "--start")
    told = Told(start, settings.every_s, settings.timezone)
    with opened.store(settings) as store:
        store.begin_run(
            started_at=opened.now(),
            product_version=__version__,
            settings=orjson.dumps(asdict(settings)).decode(),
        )
        store.record_thresholds(opened.thresholds(settings))
        counts = _load_all(store, found, told, {Path(given) for given in settings.inputs})
        _addresses(store, networks(settings.trusted_proxies))
    records = sum(count.records for count in counts)
    return sum(count.rejects for count in counts) / records if records else 0.0


def sha256(path: Path) -> str:
    """The digest of a file as it lies, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


@dataclass(frozen=True)
class _Count:
    """What one file holds: records, and those among them that are rejects."""

    records: int
    rejects: int


def _load_all(store: Store, found: Sequence[find.Found], told: Told, named: Container[Path]) -> list[_Count]:
    """Every file, each content once: a second copy in the same run is noted as skipped.

    named    the files given by name, not found in a folder
    """
    counts = []
    shown: dict[str, str] = {}
    for file in found:
        if file.kind == "skipped":
            _skip(store, file, file.reason)
            continue
        try:
            digest = sha256(file.path)
        except OSError as error:
            raise InputError(
                f"{file.shown} cannot be read",
                where=str(file.path),
                why=str(error.strerror),
                fix="check that it is still there, and its permissions",
            ) from error
        if digest in shown:
            _skip(store, file, f"it is the same, byte by byte, as {shown[digest]}")
            continue
        shown[digest] = file.shown
        is_named = file.path in named
        if store.has(digest):
            counts.append(_known(store, digest))
            _refuse_if_without_rows(file, counts[-1], is_named=is_named)
        else:
            counts.append(_load(store, file, digest, told, is_named=is_named))
    return counts


def _refuse_if_without_rows(file: find.Found, count: _Count, *, is_named: bool) -> None:
    """Who names a file wants it read; of one that lay in a folder the report says that it gave none."""
    if is_named and is_without_rows(file, count.records - count.rejects):
        raise no_row(file, f"all of its {count.rejects:,} records were rejected" if count.rejects else "")


def _skip(store: Store, file: find.Found, why: str) -> None:
    """Note a file that is not read. One that is no plain file is not opened: a pipe would never end."""
    size, digest = 0, None
    if file.path.is_file():
        size = file.path.stat().st_size
        with suppress(OSError):  # which is why it is skipped, and is said
            digest = sha256(file.path)
    with store.loading(path=file.shown, sha256=digest, size=size, kind="skipped", format_name=why):
        pass


def _known(store: Store, digest: str) -> _Count:
    """What a file holds whose content was loaded in an earlier run."""
    sql = "select records, rejects from meta.input where sha256 = $1 and kind <> 'skipped'"
    [(records, rejects)] = store.run(sql, [digest])
    return _Count(int(str(records)), int(str(rejects)))


def _load(store: Store, file: find.Found, digest: str, told_times: Told, *, is_named: bool) -> _Count:
    """One file into the raw tables, whole or not at all."""
    with (
        stage(file.shown) as told,
        store.loading(
            path=file.shown,
            sha256=digest,
            size=file.path.stat().st_size,
            kind=file.kind,
            format_name=file.format,
        ) as into,
    ):
        for batch in registry.read(file, told_times):
            into.append(
                batch.rows,
                batch.rejects,
                records=batch.records,
                stored=batch.stored,
                bytes_read=batch.bytes_read,
                clock=batch.clock,
            )
            told.advance(batch.bytes_read, batch.stored)
        count = _Count(into.records, into.rejected)
        _refuse_if_without_rows(file, count, is_named=is_named)
    return count


def _addresses(store: Store, trusted: Sequence[str]) -> None:
    """Read every address text that occurs, once."""
    texts = store.frame(
        """
        with texts as (
            select peer_address as text from raw.access
            union
            select trim(unnest(string_split(forwarded_for, ','))) from raw.access
            union
            select peer_address from raw.span
            union
            select client_address from raw.span
            union
            select trim(unnest(string_split(forwarded_for, ','))) from raw.span
        )

        select text from texts where text != '' order by text
        """
    )["text"]
    ranges = [ip_network(text) for text in trusted]
    parsed = addresses.parse(texts)
    believed = [
        canonical is not None and any(ip_address(canonical) in network for network in ranges)
        for canonical in (parsed["canonical"] if ranges else [None] * parsed.height)
    ]
    store.replace(
        "raw.address",
        parsed.with_columns(is_trusted=pl.Series(believed, dtype=pl.Boolean)).select(
            "text", "canonical", "key_hi", "key_lo", "is_internal", "is_trusted"
        ),
    )
