"""Who sent the load: client networks whose share of it exceeds what they sent before."""

import math
from collections.abc import Mapping
from ipaddress import ip_network

import polars as pl

from tracemortem.incident import Cause, Source

# What a culprit sends too much of, by the cause it is a culprit of: columns of evidence.source, and words.
_LOAD = {
    "long_context_surge": ("long_requests", "long_expected", "prompt_tokens", "long prompts"),
    "cache_pollution": ("long_requests", "long_expected", "prompt_tokens", "long prompts"),
    "output_length_surge": ("heavy_outputs", "heavy_expected", "output_tokens", "long answers"),
    "retry_storm": ("requests", "requests_expected", "prompt_tokens", "requests"),
    "traffic_surge": ("requests", "requests_expected", "prompt_tokens", "requests"),
    # whatever it was, a network that suddenly sends more is worth knowing
    "unknown": ("requests", "requests_expected", "prompt_tokens", "requests"),
}
_VICTIMS_SHOWN = 10


def sources(
    frame: pl.DataFrame, causes: tuple[Cause, ...], settings: Mapping[str, float]
) -> tuple[Source, ...]:
    """The culprit networks of an incident's first cause that has any, then the networks that suffered most.

    frame     evidence.source of one incident: client_net, requests, ..., one row a network
    settings  culprit_share, culprit_sigmas, culprit_lift, void_share (thresholds.yaml)
    returns   culprits by what they sent, then victims by slow requests; nothing if one network hides all

    A culprit sent more of the load than its baseline rate explains, by culprit_sigmas standard deviations
    of a Poisson count, at least culprit_share of the whole excess, and culprit_lift times its usual share.
    Observed within, not owned by: a network is the range in which requests were seen.
    """
    total, largest = frame.select(total=pl.col("requests").sum(), largest=pl.col("requests").max()).row(0)
    if not total or largest > settings["void_share"] * total:
        return ()
    kinds = [cause.kind for cause in causes if cause.role == "primary" and cause.kind in _LOAD]
    culprits = _culprits(frame, kinds[0], settings) if kinds else frame.clear()
    named = set(culprits["client_net"])
    found = []
    for row in culprits.to_dicts():
        sent, expected, tokens, words = _LOAD[kinds[0]]
        innocent = 1 - row[sent] / row["requests"]
        found.append(
            Source(
                cidr=str(ip_network(row["client_net"])),
                role="culprit",
                requests=row["requests"],
                tokens=row[tokens],
                share_of_excess=row["share"],
                collateral=innocent,
                text=(
                    f"{row[sent]:,} {words} from {row['clients']:,} addresses, where its usual rate is "
                    f"{row[expected]:,.0f}: {100 * row['share']:.0f} % of the whole excess"
                ),
            )
        )
    suffered = (
        frame.filter(~pl.col("client_net").is_in(list(named)) & (pl.col("slow_requests") > 0))
        .sort(["slow_requests", "client_net"], descending=[True, False])
        .head(_VICTIMS_SHOWN)
    )
    found.extend(
        Source(
            cidr=str(ip_network(row["client_net"])),
            role="victim",
            requests=row["requests"],
            tokens=row["prompt_tokens"],
            share_of_excess=None,
            collateral=None,
            text=f"{row['slow_requests']:,} of {row['requests']:,} requests slower than the usual P99",
        )
        for row in suffered.to_dicts()
    )
    return tuple(found)


def _culprits(frame: pl.DataFrame, kind: str, settings: Mapping[str, float]) -> pl.DataFrame:
    sent, expected, _, _ = _LOAD[kind]
    excess = pl.col(sent) - pl.col(expected)
    whole = frame.select(excess.clip(lower_bound=0).sum()).item()
    if not whole or not math.isfinite(whole):
        return frame.clear().with_columns(share=pl.lit(None, pl.Float64))
    return (
        frame.with_columns(share=excess / whole)
        .filter(
            (pl.col("share") >= settings["culprit_share"])
            # in a surge of everybody each network has the share that is usual for it, and none is to blame
            & (pl.col("share") >= settings["culprit_lift"] * pl.col(expected) / pl.col(expected).sum())
            # a network never seen before has no rate: one request stands for what it might have sent
            & (excess >= settings["culprit_sigmas"] * pl.max_horizontal(pl.col(expected), 1.0).sqrt())
        )
        .sort(["share", "client_net"], descending=[True, False])
    )
