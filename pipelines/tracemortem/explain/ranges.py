"""Who sent the load: the address ranges whose share of it exceeds what they sent before."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network

import polars as pl

from tracemortem.explain.chance import poisson_tail
from tracemortem.explain.cover import cover
from tracemortem.explain.weigh import UNEXPLAINED
from tracemortem.incident import Cause, Source


@dataclass(frozen=True)
class _Load:
    """What a culprit sends too much of, in columns of evidence.source, and in words.

    sent, expected  how many of them came, and would have at the usual rate
    weight, whole   what they weigh, and what all requests of the client do
    """

    sent: str
    expected: str
    weight: str
    whole: str
    words: str


_LONG = _Load("long_requests", "long_expected", "long_tokens", "prompt_tokens", "long prompts")
_MANY = _Load("requests", "requests_expected", "requests", "requests", "requests")
_LOADS = {
    "long_context_surge": _LONG,
    "cache_pollution": _LONG,
    "output_length_surge": _Load(
        "heavy_outputs", "heavy_expected", "heavy_tokens", "output_tokens", "long answers"
    ),
    "retry_storm": _MANY,
    "traffic_surge": _MANY,
    UNEXPLAINED: _MANY,  # whatever it was, a range that suddenly sends more is worth knowing
}
_VICTIMS_SHOWN = 10
_PREFIX_SHARE = 0.01  # of the guilty weight: a range with less is not worth a line in a block list
_PREFIX_CLIENTS = 3  # and with no more than what that many clients send on the average
_BITS = {True: 32, False: 64}  # of client_bits, by is_ipv4


@dataclass(frozen=True)
class _Range:
    """A prefix, the condition that a client lies within, and the probability of what it sent by chance."""

    cidr: str
    is_within: pl.Expr
    p: float


@dataclass(frozen=True)
class Ranges:
    """The clients of one incident, and the prefixes of them that sent too much, by kind of load.

    settled   the clients with what is expected of them, by kind of load
    """

    clients: pl.DataFrame
    settled: Mapping[_Load, pl.DataFrame]
    found: Mapping[_Load, tuple[_Range, ...]]

    @property
    def p_values(self) -> list[float]:
        """That of each prefix found, which pays for all that might have been found instead (Bonferroni).

        The binary trie of n addresses has 2 n - 1 prefixes that differ in whom they hold. They are paid for
        here, not by all else that was looked at: how many clients there are says nothing about a signal.
        """
        might = 2 * self.clients.height - 1
        return [min(1.0, one.p * might) for ranges in self.found.values() for one in ranges]


def ranges(frame: pl.DataFrame) -> Ranges:
    """The prefixes that cover the clients who sent too much of anything, each with its test.

    frame     evidence.source of one incident, one row a client

    Whatever the cause may turn out to be: all loads are looked at, and count as looked at.
    """
    settled = {load: _settled(frame, load) for load in dict.fromkeys(_LOADS.values())}
    found = {load: tuple(_ranges(own, load)) for load, own in settled.items()}
    return Ranges(frame, settled, found)


def sources(
    found: Ranges,
    q_values: Sequence[float],
    causes: tuple[Cause, ...],
    settings: Mapping[str, float],
    minutes: float,
) -> tuple[Source, ...]:
    """The culprit ranges of an incident's first cause that has any, then the networks that suffered most.

    q_values  the p-values of the ranges, adjusted for everything that was looked at
    settings  culprit_share, culprit_sigmas, culprit_lift, culprit_rise, void_share, false_discovery_rate
              (thresholds.yaml)
    minutes   that the incident lasted, as far as was recorded: what its expected counts are over
    returns   culprits by what they sent, then victims by slow requests; nothing if one network hides all

    Culprits are the fewest prefixes that hold the guilty clients and spare the innocent ones. Each sent more
    of the load than its baseline rate explains, at the false discovery rate and by culprit_sigmas standard
    deviations of a Poisson count, at least culprit_share of the whole excess, and culprit_lift times its
    usual share. Observed within, not owned by: a prefix is the range in which requests were seen.
    """
    by_network = found.clients.group_by("client_net").agg(pl.col("requests").sum())
    total, largest = by_network.select(pl.sum("requests"), largest=pl.max("requests")).row(0)
    if not total or largest > settings["void_share"] * total:
        return ()
    kinds = [cause.kind for cause in causes if cause.role == "primary" and cause.kind in _LOADS]
    rest, culprits = found.clients, list[Source]()
    if kinds:
        load = _LOADS[kinds[0]]
        if kinds[0] == UNEXPLAINED and not _has_risen(found.clients, load, settings):
            return tuple(_victims(found.clients))
        left = iter(q_values)
        tested = {one: list(zip(own, left, strict=False)) for one, own in found.found.items()}
        culprits, rest = _culprits(found.settled[load], load, tested[load], settings, minutes)
    return (*culprits, *_victims(rest))


def _has_risen(frame: pl.DataFrame, load: _Load, settings: Mapping[str, float]) -> bool:
    """Whether all clients together sent more than usual: else that some did has not slowed the service."""
    sent, expected = frame.select(pl.sum(load.sent), pl.sum(load.expected)).row(0)
    return bool(sent >= settings["culprit_rise"] * expected)


def _settled(frame: pl.DataFrame, load: _Load) -> pl.DataFrame:
    """The rows with an expected count that follows clients who changed their address within their network.

    What those who came no more had sent is expected of those of the same network who are new.
    """
    sent, expected = pl.col(load.sent), pl.col(load.expected)
    came, is_new = pl.col("requests") > 0, pl.col("requests_expected") == 0
    of_new = pl.col("requests").filter(is_new).sum().over("client_net")
    of_gone = expected.filter(~came).sum().over("client_net")
    return frame.with_columns(
        pl.when(of_new == 0)
        .then(expected)
        .when(is_new)
        .then(of_gone * pl.col("requests") / of_new)
        .when(came)
        .then(expected)
        .otherwise(0.0)
        .alias(load.expected)
    ).with_columns(
        gain=pl.when(sent > 0)
        .then(pl.col(load.weight).fill_null(0) * (1 - pl.col(load.expected) / sent).clip(0, 1))
        .otherwise(0.0)
    )


def _culprits(
    frame: pl.DataFrame,
    load: _Load,
    tested: Sequence[tuple[_Range, float]],
    settings: Mapping[str, float],
    minutes: float,
) -> tuple[list[Source], pl.DataFrame]:
    """The culprit ranges, heaviest first, and the clients outside them. tested: each range with its q."""
    usual, excess = frame[load.expected].sum(), _excess(frame, load)
    found, rest = [], frame
    for one, q in tested:
        inside = frame.filter(one.is_within)
        sent, expected, requests, usual_requests = inside.select(
            sent=pl.sum(load.sent),
            expected=pl.sum(load.expected),
            requests=pl.sum("requests"),
            usual_requests=pl.sum("requests_expected"),
        ).row(0)
        share = (sent - expected) / excess
        if (
            share >= settings["culprit_share"]
            # in a surge of everybody each range has the share that is usual for it, and none is to blame
            and share * usual >= settings["culprit_lift"] * expected
            # a range never seen before has no rate: one request stands for what it might have sent
            and sent - expected >= settings["culprit_sigmas"] * math.sqrt(max(expected, 1.0))
            and q <= settings["false_discovery_rate"]
        ):
            clients = inside.filter(pl.col("requests") > 0).height
            found.append(
                Source(
                    cidr=one.cidr,
                    role="culprit",
                    requests=requests,
                    tokens=_tokens(inside, load),
                    share_of_excess=share,
                    collateral=1 - sent / requests,
                    text=(
                        f"{sent:,} {load.words} from {clients:,} addresses, where its usual rate is "
                        f"{expected:,.0f}: {100 * share:.0f} % of the whole excess"
                    ),
                    q=q,
                    usual_per_minute=usual_requests / minutes,
                )
            )
            rest = rest.filter(~one.is_within)
    return sorted(found, key=lambda source: (-(source.share_of_excess or 0.0), source.cidr)), rest


def _excess(frame: pl.DataFrame, load: _Load) -> float:
    """What networks sent beyond what was expected of them; NaN if nothing is known of that."""
    of_network = frame.group_by("client_net", maintain_order=True).agg(
        excess=(pl.col(load.sent) - pl.col(load.expected)).sum()
    )
    excess = of_network["excess"].clip(lower_bound=0).sum()
    return math.nan if excess is None else float(excess)


def _ranges(frame: pl.DataFrame, load: _Load) -> Iterator[_Range]:
    """The prefixes that cover the guilty clients."""
    excess = _excess(frame, load)
    if not excess or not math.isfinite(excess):
        return
    guilty = frame.filter(pl.col("gain") > 0)
    if guilty.is_empty():
        return
    whole = float(guilty.select(pl.sum("gain")).item())
    per_prefix = max(_PREFIX_SHARE * whole, _PREFIX_CLIENTS * whole / guilty.height)
    for is_ipv4, bits in _BITS.items():
        own = frame.filter(pl.col("is_ipv4") == is_ipv4).sort("client_bits")
        loss = (own[load.whole].fill_null(0) - own["gain"]).clip(lower_bound=0)
        for first, length in cover(
            own["client_bits"].to_numpy(), bits, own["gain"].to_numpy(), loss.to_numpy(), per_prefix
        ):
            last = first | ((1 << (bits - length)) - 1)
            cidr = IPv4Network((first, length)) if is_ipv4 else IPv6Network((first << 64, length))
            is_within = (pl.col("is_ipv4") == is_ipv4) & pl.col("client_bits").is_between(
                pl.lit(first, pl.UInt64), pl.lit(last, pl.UInt64)
            )
            sent, expected = frame.filter(is_within).select(pl.sum(load.sent), pl.sum(load.expected)).row(0)
            # a range never seen before has no rate: one request stands for what it might have sent
            yield _Range(str(cidr), is_within, poisson_tail(sent, max(expected, 1.0)))


def _victims(rest: pl.DataFrame) -> list[Source]:
    suffered = (
        rest.group_by("client_net")
        .agg(
            pl.col("requests", "slow_requests").sum(),
            # a sum over nothing known is not 0
            prompt_tokens=pl.when(pl.col("prompt_tokens").count() > 0).then(pl.col("prompt_tokens").sum()),
        )
        .filter(pl.col("slow_requests") > 0)
        .sort(["slow_requests", "client_net"], descending=[True, False])
        .head(_VICTIMS_SHOWN)
    )
    return [
        Source(
            cidr=_shortest(row["client_net"]),
            role="victim",
            requests=row["requests"],
            tokens=row["prompt_tokens"],
            share_of_excess=None,
            collateral=None,
            text=f"{row['slow_requests']:,} of {row['requests']:,} requests slower than the usual P99",
        )
        for row in suffered.to_dicts()
    ]


def _tokens(inside: pl.DataFrame, load: _Load) -> int | None:
    tokens = inside["output_tokens" if load.whole == "output_tokens" else "prompt_tokens"].drop_nulls()
    return int(tokens.sum()) if tokens.len() else None


def _shortest(net: str) -> str:
    return str(IPv6Network(net) if ":" in net else IPv4Network(net))
