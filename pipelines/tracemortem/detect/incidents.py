"""Spikes of several watches and models -> incidents: what a service shows at the same time is one."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from tracemortem.incident import Spike


def incidents(found: Iterable[Iterable[Spike]], merge_minutes: float) -> list[Spike]:
    """The spikes with those that belong together made one, by start and service.

    found          the spikes of each watch, the watch that matters most first
    merge_minutes  a lull this short between two spikes does not make two incidents

    One confirmed stands for a candidate, then one of the watch before for one of a watch behind, then one of
    the service for one of its models. It keeps its window and names the others, so that a spike of the time
    to first token that spans two of latency does not make them one.
    """
    ranked = [(rank, spike) for rank, spikes in enumerate(found) for spike in spikes]
    ranked.sort(
        key=lambda one: (
            one[1].status != "confirmed",
            one[0],
            one[1].model is not None,
            one[1].start,
            one[1].service,
            one[1].model or "",
        )
    )
    lull = timedelta(minutes=merge_minutes)
    kept: list[tuple[int, Spike, list[str]]] = []
    for rank, spike in ranked:
        beside = [
            entry
            for entry in kept
            if entry[1].service == spike.service
            and _is_near(entry[1], spike, timedelta(0) if _is_same(entry, rank, spike) else lull)
        ]
        if beside:
            beside[0][2].append(_named(spike))
        else:
            kept.append((rank, spike, []))
    whole = [
        replace(spike, reason=f"{spike.reason}; seen as well in {', '.join(dict.fromkeys(others))}")
        if others
        else spike
        for _, spike, others in kept
    ]
    return sorted(whole, key=lambda spike: (spike.start, spike.service))


def _is_same(entry: tuple[int, Spike, list[str]], rank: int, spike: Spike) -> bool:
    """Whether both are of one series; its spikes were parted already where they are apart."""
    return (entry[0], entry[1].model) == (rank, spike.model)


def _is_near(one: Spike, other: Spike, lull: timedelta) -> bool:
    return (other.end is None or one.start <= other.end + lull) and (
        one.end is None or other.start <= one.end + lull
    )


def _named(spike: Spike) -> str:
    return spike.metric if spike.model is None else f"{spike.metric} of model {spike.model}"
