"""Step 1: files into raw tables, each whole or not at all, each content once."""

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import asdict
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path

import orjson
import polars as pl

from tracemortem import __version__
from tracemortem.settings import Settings, networks
from tracemortem.sources import addresses, find
from tracemortem.sources.clock import Told
from tracemortem.sources.rotated import neighbours
from tracemortem.steps import opened, take
from tracemortem.steps.look import found_files, told
from tracemortem.steps.recall import Recalled, recall
from tracemortem.steps.refuse import refuse_empty
from tracemortem.steps.rejoin import rejoin
from tracemortem.warehouse import ledger
from tracemortem.warehouse.ledger import State
from tracemortem.warehouse.store import Store

_ADDRESSES_AT_ONCE = 200_000  # some 150 MB while they are read


def load(settings: Settings) -> float:
    """Load every input that is not loaded yet; returns the share of all their records that are rejects.

    raises   InputError for what cannot be read as what it is, and for an INPUT that gives no row;
             WarehouseError if the file is in use
    """
    found = found_files(settings)
    # blocks are too small to be shared out: two threads took 1.3 times the CPU time, and no less time
    with opened.store(settings, threads=1) as store:
        store.begin_run(
            started_at=opened.now(),
            product_version=__version__,
            settings=orjson.dumps(asdict(settings)).decode(),
        )
        store.record_thresholds(opened.thresholds(settings))
        loaded = _load_all(store, found, told(settings), {Path(given) for given in settings.inputs})
        ledger.mark_replaced(store)
        _addresses(store, networks(settings.trusted_proxies))
        return ledger.rejected_share(store, loaded)


def _load_all(
    store: Store, found: Sequence[find.Found], told: Told, named: Container[Path]
) -> Collection[int]:
    """Every file, each content once: another copy in the same run is noted as skipped.

    named    the files given by name, not found in a folder
    returns  the numbers of those that are read, now or before
    """
    continued = {after for _, after in neighbours(file.path for file in found)}
    claimed: dict[int, find.Found] = {}
    loaded: list[tuple[find.Found, int]] = []
    for file in found:
        store.forget_skipped(file.shown)
        if file.kind == "skipped":
            take.skip(store, file, file.reason)
            continue
        recalled = recall(store, file, claimed)
        state = recalled.state
        is_named = file.path in named and file.path not in continued  # it may be the end of a record
        if state is None:
            number = take.anew(store, file, recalled, told, is_named=is_named)
            loaded.append((file, number))
            claimed[number] = file
            continue
        number = state.file_id
        loaded.append((file, number))
        if why := _counted_elsewhere(recalled, state, claimed):
            take.skip(store, file, why)
            continue
        if recalled.how == "same":
            take.same(store, file, recalled, state, is_named=is_named)
        else:
            take.further(store, file, recalled, state, told, is_named=is_named)
            if number in claimed:
                why = f"it is the beginning of {file.shown}, of which more was read"
                take.skip(store, claimed[number], why)
        claimed[number] = file
    refuse_empty(store, loaded, besides=rejoin(store, claimed, told))
    return claimed.keys()


def _counted_elsewhere(recalled: Recalled, state: State, claimed: Mapping[int, find.Found]) -> str:
    """Why a file of which something was read is not read further; "" where it is."""
    if recalled.how == "part":
        return f"it is the beginning of {state.path}, of which more was read"
    if recalled.how == "same" and state.file_id in claimed:
        return f"it holds the same as {claimed[state.file_id].shown}"
    return ""


def _addresses(store: Store, trusted: Sequence[str]) -> None:
    """Read every address text that occurs, once."""
    store.run(
        """
        create or replace temp table address_text as
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

        select text from texts where text != ''
        """
    )
    ranges = [ip_network(text) for text in trusted]
    pages = store.pages("address_text", _ADDRESSES_AT_ONCE)
    store.replace("raw.address", (_read_addresses(page["text"], ranges) for page in pages))
    store.run("drop table address_text")


def _read_addresses(texts: pl.Series, trusted: Sequence[IPv4Network | IPv6Network]) -> pl.DataFrame:
    parsed = addresses.parse(texts)
    believed = [
        canonical is not None and any(ip_address(canonical) in network for network in trusted)
        for canonical in (parsed["canonical"] if trusted else [None] * parsed.height)
    ]
    return parsed.with_columns(is_trusted=pl.Series(believed, dtype=pl.Boolean)).select(
        "text", "canonical", "key_hi", "key_lo", "is_internal", "is_trusted"
    )
