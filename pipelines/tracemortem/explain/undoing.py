"""What a replay without them says of causes: which is the main one, and what share of the rise is whose."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracemortem.findings import Reset
from tracemortem.incident import Cause


def reweighed(
    causes: Sequence[Cause],
    resets: Mapping[str, Reset],
    settings: Mapping[str, float],
    *,
    is_quantified: bool,
) -> tuple[Cause, ...]:
    """The causes in order of what goes without them, primary ones first.

    resets         what a replay puts back -> what went with it
    settings       replay_main_share, replay_minor_share (thresholds.yaml)
    is_quantified  whether the replay agrees well enough for that: a primary cause without which surely less
                   than the minor share goes only contributes, where another is surely the main one

    A cause that no replay undoes stays what it is, after those that one does.
    """
    own = {cause.kind: resets[cause.reset] for cause in causes if cause.role == "primary" and cause.reset}
    has_main = any(one.low >= settings["replay_main_share"] for one in own.values())
    minor = {kind for kind, one in own.items() if one.high < settings["replay_minor_share"]}
    demoted = minor if has_main and is_quantified else set()
    told = [
        replace(cause, role="contributing", confidence=None) if cause.kind in demoted else cause
        for cause in causes
    ]

    def order(cause: Cause) -> tuple[bool, float]:
        return cause.role != "primary", -own[cause.kind].share if cause.kind in own else 0.0

    return tuple(sorted(told, key=order))


def with_shares(
    causes: Sequence[Cause], resets: Mapping[str, Reset], shares: Mapping[str, float]
) -> tuple[Cause, ...]:
    """The primary causes with their shares of the rise, 0 to 1; intervals are as wide as those alone.

    shares   what a replay puts back -> its share: alone or, where several are to blame, by Shapley
    """

    def told(cause: Cause) -> Cause:
        if cause.role != "primary" or cause.reset is None:
            return cause
        alone, share = resets[cause.reset], shares[cause.reset]
        edges = (share, share + alone.low - alone.share, share + alone.high - alone.share)
        value, low, high = (min(max(edge, 0.0), 1.0) for edge in edges)
        return replace(cause, share=value, share_low=low, share_high=high)

    return tuple(told(cause) for cause in causes)
