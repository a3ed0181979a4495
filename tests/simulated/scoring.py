"""What a report is worth beside what was true: one case, and all of them by kind.

The rules are those of the shared score of labelled recordings. An incident is found if it overlaps the true
window by half, or has both ends within three minutes of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import collapse_addresses, ip_network
from typing import Any

from simulated.cases import Case

Report = Mapping[str, Any]
NEAR_S = 180.0
HALF = 0.5


@dataclass(frozen=True)
class Claim:
    """One primary cause that was named. is_beside: another stood beside it."""

    verdict: str
    is_beside: bool
    confidence: float
    is_true: bool


@dataclass(frozen=True)
class Score:
    """One case. None where the case does not ask for it."""

    kind: str
    seed: int
    alarms: int  # confirmed incidents that touch no trouble
    said: tuple[str, ...] = ()  # primary causes
    true: tuple[str, ...] = ()
    is_detected: bool | None = None
    iou: float | None = None
    late_s: float | None = None  # how far the start lies outside the time from the condition to its effect
    is_top1: bool | None = None
    is_exact: bool | None = None
    false: tuple[str, ...] = field(default=())
    cleared: tuple[str, ...] = field(default=())
    cidr: tuple[int, int, int] | None = None  # ranges found, named, true
    claims: tuple[Claim, ...] = ()


def score(case: Case, report: Report) -> Score:
    """One report of one case."""
    every = report["incidents"]
    confirmed = [one for one in every if one["status"] == "confirmed"]
    if case.effect.window is None:
        return Score(case.kind, case.seed, len(confirmed))
    first, last = (case.shop.start + 60.0 * minute for minute in case.effect.window)
    begun, over = case.shop.start + case.start_s, case.shop.start + case.end_s
    touching = [
        one for one in confirmed if _overlap(one, report, first, last) or _overlap(one, report, begun, over)
    ]
    pool = (
        touching
        if case.primary != ("mix_shift",)
        else [one for one in every if _overlap(one, report, first, last)]
    )
    best = max(pool, key=lambda one: _overlap(one, report, first, last), default=None)
    alarms = len(confirmed) - len(touching)
    if best is None:
        return Score(case.kind, case.seed, alarms, (), case.primary, False, 0.0, None, False, False)
    start, end = _span(best, report)
    iou = _overlap(best, report, first, last)
    said = tuple(cause["kind"] for cause in best["causes"] if cause["role"] == "primary")
    accepted = {*case.primary, *case.accepted}
    missed = set(case.primary) - set(said)
    stands_in = len(case.primary) == 1 and said[:1] and said[0] in accepted
    claimed = {
        cause["kind"] for cause in best["causes"]
        if cause["role"] == "primary" or cause["verdict"] in {"established", "likely"}
    }  # fmt: skip
    cleared = {entry["kind"] for entry in best["not_causes"] if entry["verdict"] == "ruled_out"}
    return Score(
        kind=case.kind,
        seed=case.seed,
        alarms=alarms,
        said=said,
        true=case.primary,
        is_detected=iou >= HALF or (abs(start - first) <= NEAR_S and abs(end - last) <= NEAR_S),
        iou=iou,
        late_s=max(min(first, begun) - start, start - max(first, begun), 0.0),
        is_top1=bool(said) and said[0] in accepted,
        is_exact=(not missed or bool(stands_in)) and set(said) <= accepted | case.plausible,
        false=tuple(sorted(claimed - accepted - case.plausible - {"unknown"})),
        cleared=tuple(sorted(cleared & set(case.primary))),
        cidr=_ranges(best, case.culprits),
        claims=tuple(
            Claim(cause["verdict"], len(said) > 1, cause["confidence"], cause["kind"] in accepted)
            for cause in best["causes"]
            if cause["role"] == "primary" and cause["confidence"] is not None
        ),
    )


def _span(incident: Report, report: Report) -> tuple[float, float]:
    end = incident["end"] or report["window"]["to"]
    return datetime.fromisoformat(incident["start"]).timestamp(), datetime.fromisoformat(end).timestamp()


def _overlap(incident: Report, report: Report, first: float, last: float) -> float:
    """Intersection over union."""
    start, end = _span(incident, report)
    return max(0.0, min(end, last) - max(start, first)) / (max(end, last) - min(start, first))


def _ranges(incident: Report, culprits: Sequence[str]) -> tuple[int, int, int] | None:
    if not culprits:
        return None
    named = [ip_network(one["cidr"]) for one in incident["sources"] if one["role"] == "culprit"]
    left, true = _collapsed(named), _collapsed(map(ip_network, culprits))
    count, found = len(left), 0
    for wanted in true:
        slack = 1 if wanted.version == 4 else 4
        near = [
            one
            for one in left
            if one.version == wanted.version
            and one.overlaps(wanted)
            and abs(one.prefixlen - wanted.prefixlen) <= slack
        ]
        if near:
            left.remove(near[0])
            found += 1
    return found, count, len(true)


def _collapsed(networks: Iterable[Any]) -> list[Any]:
    every = list(networks)
    return [
        net
        for version in (4, 6)
        for net in collapse_addresses(one for one in every if one.version == version)
    ]


COLUMNS = (
    "n",
    "detected",
    "top-1",
    "exact",
    "false causes",
    "cleared",
    "false alarms",
    "onset s",
    "IoU",
    "CIDR P",
    "CIDR R",
)


def table(scores: Sequence[Score]) -> str:
    """A row a kind, and one of all: shares in percent, counts, and medians of onset and IoU."""
    kinds = dict.fromkeys(one.kind for one in scores)
    rows = [
        ("kind", *COLUMNS),
        *((kind, *row([one for one in scores if one.kind == kind])) for kind in kinds),
    ]
    rows.append(("all", *row(scores)))
    widths = [max(len(one[place]) for one in rows) for place in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(text.rjust(width) for text, width in zip(one, widths, strict=True)) + " |"
        for one in rows
    ]
    return (
        "\n".join((lines[0], "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|", *lines[1:]))
        + "\n"
    )


def row(scores: Sequence[Score]) -> tuple[str, ...]:
    """The figures of some cases, as text."""
    real = [one for one in scores if one.is_detected is not None]
    ranges = [one.cidr for one in real if one.cidr is not None]
    found, named, true = (sum(part) for part in zip(*ranges, strict=True)) if ranges else (0, 0, 0)
    return (
        str(len(scores)),
        _percent(one.is_detected for one in real),
        _percent(one.is_top1 for one in real),
        _percent(one.is_exact for one in real),
        str(sum(len(one.false) for one in scores)),
        str(sum(len(one.cleared) for one in scores)),
        str(sum(one.alarms for one in scores)),
        _median([one.late_s for one in real if one.late_s is not None], "{:.0f}"),
        _median([one.iou for one in real if one.iou is not None], "{:.2f}"),
        f"{100 * found / named:.0f}" if named else "-",
        f"{100 * found / true:.0f}" if true else "-",
    )


def _percent(held: Iterable[bool | None]) -> str:
    every = list(held)
    return f"{100 * sum(map(bool, every)) / len(every):.0f}" if every else "-"


def _median(values: Sequence[float], form: str) -> str:
    return form.format(sorted(values)[len(values) // 2]) if values else "-"


def reliability(scores: Sequence[Score]) -> str:
    """Stated confidence beside the share that was true, by evidence, and the expected calibration error."""
    claims = [claim for one in scores for claim in one.claims]
    lines = ["| verdict | beside others | claims | true | confidence |", "|---|---|---|---|---|"]
    error = 0.0
    for verdict, is_beside in sorted({(claim.verdict, claim.is_beside) for claim in claims}):
        held = [claim for claim in claims if (claim.verdict, claim.is_beside) == (verdict, is_beside)]
        true = sum(claim.is_true for claim in held)
        stated = sum(claim.confidence for claim in held) / len(held)
        error += abs(true - stated * len(held)) / len(claims)
        lines.append(f"| {verdict} | {'yes' if is_beside else 'no'} | {len(held)} | {true} | {stated:.2f} |")
    return "\n".join((*lines, f"\nExpected calibration error: {error:.3f}")) + "\n"
