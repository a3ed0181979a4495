"""What a metric series is: which column of which record, in which unit, and whose."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import polars as pl

from tracemortem.sources.records import Column, record

RECORDS = ("gpu_sample", "engine_sample", "host_sample")
# `instance` is where a target was scraped; its machine is the same for every exporter on it
_WITH_PORT = re.compile(r"^([^:]+|\[.+\]):\d+$")
_ENGINE_PREFIXES = ("ray_vllm_", "ray_vllm:", "vllm.", "vllm_")


@dataclass(frozen=True)
class Described:
    """A series in our words. record and field are None for a series that is kept, but means nothing to us.

    times       factor from the sample's unit to the field's
    is_counter  the field only ever grows, but for restarts
    rank        0 for the newest name of the field; where one source gives a field by several names, the
                lowest rank is the field and the others would count it twice
    """

    record: str | None
    field: str | None
    times: float
    is_counter: bool
    gpu: str | None
    host: str | None
    replica: str | None
    model: str | None
    service: str | None
    rank: int = 0


def describe(name: str, labels: Mapping[str, str]) -> Described:
    """What the series `name` with these labels is, by the names declared in records/*.yaml.

    name     as written; `_total` at its end is of no account, and `ray_vllm_`, `vllm.`, `vllm_` are `vllm:`.
             A histogram of OTLP is asked for as `<name>_sum` and `<name>_count`.
    labels   of the sample; for OTLP those of resource and point together

    `_created` is no counter and never taken for one: its name is declared nowhere.
    """
    found = next((one for one in _by_name().get(canonical(name), ()) if _is_of(labels, *one[1:])), None)
    if found is None:
        return _owned(None, None, 1.0, labels)
    owner, column, rank = found
    is_part = name.startswith("sglang:") and labels.get("priority")  # the series without it is the sum of all
    if is_part or any(labels.get(label) == value for label, value in column.without):
        return _owned(None, None, 1.0, labels)
    return _owned(owner, column, column.aliases[rank][1], labels, rank)


def from_labels(name: str, labels: Mapping[str, str]) -> list[tuple[Described, float]]:
    """The fields whose value stands in a label of this series, as num_gpu_blocks in vllm:cache_config_info.

    A label that is no number (None, auto) gives nothing; True and False are 1 and 0.
    """
    found = []
    for owner, column in _by_label().get(canonical(name), ()):
        value = _number(labels.get(column.label or "", ""))
        if value is not None:
            found.append((_owned(owner, column, 1.0, labels), value))
    return found


def without_blanks(value: pl.Expr, name: pl.Expr) -> pl.Expr:
    """The value, null where it is a sentinel of DCGM: blank, not found, not supported or not permitted.

    value   Float64;  name   metric name of the same row

    INT64 0x7ffffffffffffff0 to ..f3 (all the same in a float), INT32 2147483632 to ..635, FP64
    140737488355328 to ..331. Newer exporters leave the series out instead.
    """
    is_blank = (
        (value >= 9.223372036854775e18)
        | value.is_between(2147483632, 2147483635)
        | value.is_between(140737488355328, 140737488355331)
    )
    return pl.when(is_blank & name.str.contains(r"^(?:DCGM|dcgm)_")).then(None).otherwise(value)


def canonical(name: str) -> str:
    """The name as the records declare it: engine prefix `vllm:`, no `_total`."""
    for prefix in _ENGINE_PREFIXES:
        if name.startswith(prefix):
            name = "vllm:" + name.removeprefix(prefix)
            break
    return name.removesuffix("_total")


def _owned(
    owner: str | None, column: Column | None, times: float, labels: Mapping[str, str], rank: int = 0
) -> Described:
    whose = record(owner or "metric")

    def first(of: str) -> str | None:
        names = whose[of].labels if of in whose else ()
        return next((labels[name] for name in names if labels.get(name)), None)

    gpu = first("gpu")
    instance = labels.get("GPU_I_ID")
    if gpu is not None and instance:  # MIG: one series per slice, which must not be taken for the whole GPU
        gpu = f"{gpu}/{instance}"
    return Described(
        owner,
        column.name if column else None,
        times,
        column.is_counter if column else False,
        gpu,
        _WITH_PORT.sub(r"\1", host) if (host := first("host")) else None,
        first("replica"),
        first("model"),
        first("service"),
        rank,
    )


def _is_of(labels: Mapping[str, str], column: Column, rank: int) -> bool:
    only = column.only.get(column.aliases[rank][0], ())
    return all(labels.get(label) == value for label, value in only)


@cache
def _by_name() -> Mapping[str, list[tuple[str, Column, int]]]:
    found: dict[str, list[tuple[str, Column, int]]] = {}
    for owner in RECORDS:
        for column in record(owner).values():
            if column.label is None:
                for rank, (alias, _) in enumerate(column.aliases):
                    found.setdefault(canonical(alias), []).append((owner, column, rank))
    return found


@cache
def _by_label() -> Mapping[str, list[tuple[str, Column]]]:
    found: dict[str, list[tuple[str, Column]]] = {}
    for owner in RECORDS:
        for column in record(owner).values():
            if column.label is not None:
                for alias, _ in column.aliases:
                    found.setdefault(canonical(alias), []).append((owner, column))
    return found


def _number(text: str) -> float | None:
    if text in {"True", "true", "False", "false"}:
        return float(text in {"True", "true"})
    try:
        return float(text)
    except ValueError:
        return None
