"""Step 1: files into raw tables, each whole or not at all, each content once."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from ipaddress import ip_address, ip_network
from pathlib import Path

import orjson
import polars as pl

from tracemortem import __version__
from tracemortem.progress import stage
from tracemortem.settings import Settings, instant, networks
from tracemortem.sources import addresses, find, registry
from tracemortem.sources.clock import Told
from tracemortem.steps import opened
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
        records = rejects = 0
        for file in found:
            read, refused = _load(store, file, told)
            records, rejects = records + read, rejects + refused
        _addresses(store, networks(settings.trusted_proxies))
    return rejects / records if records else 0.0


def sha256(path: Path) -> str:
    """The digest of a file as it lies, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _load(store: Store, file: find.Found, told_times: Told) -> tuple[int, int]:
    """One file; returns its records and rejects, as they were if its content is loaded already."""
    digest = sha256(file.path)
    if store.has(digest):
        known = store.run(
            "select records, rejects from meta.input where sha256 = $1 and kind <> 'skipped'", [digest]
        )[0]
        return int(str(known[0])), int(str(known[1]))
    size = file.path.stat().st_size
    is_skipped = file.kind == "skipped"
    with (
        stage(file.shown, None) as told,
        store.loading(
            path=file.shown,
            sha256=digest,
            size=size,
            kind=file.kind,
            format_name=file.reason if is_skipped else file.format,
        ) as into,
    ):
        if not is_skipped:
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
    return into.records, into.rejected


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
