"""What would have been with a policy in force, with a range."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracemortem.findings import Forecast, Range
from tracemortem.replay import jackknife
from tracemortem.replay.model import NOISE, Model, calibrated
from tracemortem.replay.policy import Action, Policy
from tracemortem.replay.recorded import Bools, Floats
from tracemortem.replay.resets import World, undone
from tracemortem.replay.trial import Scene, Trial, trial

_PACES = (-NOISE, NOISE)
_CALIBRATION = 8  # replays that take as long as calibrating once, measured on 100,000 to 400,000 requests
_KEEP_AWAY = {"own_replicas", "block", "limit", "block_cap", "give_up", "more_replicas", "fallback"}


@dataclass(frozen=True)
class Doubt:
    """Models that the recording allows besides the one it was calibrated to.

    left_out  each calibrated without a fifth of the minutes
    paced     all engines a little slower, and a little faster
    error     of the replayed P99 against the recorded one, relative to that: below 1
    """

    left_out: tuple[Model, ...]
    paced: tuple[Model, ...]
    error: float


def replays(chosen: Sequence[Policy]) -> int:
    """How many replays of all requests forecasts of these take at most, doubts and their calibrations too."""
    for_range = jackknife.GROUPS + len(_PACES)
    each = (1 + for_range + _keeps_away(one) for one in chosen)
    return jackknife.GROUPS * _CALIBRATION + sum(each)


def doubt(world: World, error: float) -> Doubt:
    """The models to ask besides; error: of the replay's fit, where it is worse."""
    made, model = world.made, world.model
    groups = jackknife.group(made.started)
    return Doubt(
        left_out=tuple(calibrated(made, model.limits, used=groups != one) for one in range(jackknife.GROUPS)),
        paced=tuple(replace(model, slowness=model.slowness * (1 + by)) for by in _PACES),
        error=abs(error),
    )


def forecast(world: World, policy: Policy, scene: Scene, doubts: Doubt) -> Forecast:
    """The incident with the policy in force from the beginning, refusals of blocked clients from its start.

    raises   NotAvailableError where the policy cannot be represented

    Ranges hold the 95 % interval of the calibration (a jackknife over fifths of the minutes), all engines
    6 % slower or faster and, where the policy keeps load away from others, as much of their prompts cached as
    before the incident; then they are widened by the replay's own error.
    """
    middle = trial(world, policy.actions, scene)
    total_s, elsewhere = middle.played()
    value = _measured(middle, total_s, scene)
    left_out = [_again(world, model, policy.actions, scene) for model in doubts.left_out]
    others = [_again(world, model, policy.actions, scene) for model in doubts.paced]
    if _keeps_away(policy):
        restored = undone(world, ["cache"], scene.long_tokens)
        others.append(_again(restored, world.model, policy.actions, scene))
    ranges = {
        name: _range(
            name, value[name], [one[name] for one in left_out], [one[name] for one in others], doubts.error
        )
        for name in value
    }
    during, fits, unanswered = world.made.is_during, world.model.fits(world.made), np.isnan(total_s)
    return Forecast(
        **ranges,
        rejected=int((during & unanswered & fits).sum()),
        rejected_before=int((world.made.is_before & unanswered & fits).sum()),
        unfit=int((during & unanswered & ~fits).sum()),
        elsewhere=int((during & elsewhere).sum()),
        cut=int((during & middle.cut & ~unanswered & ~elsewhere).sum()),
        requests=int(during.sum()),
    )


def _keeps_away(policy: Policy) -> bool:
    return not _KEEP_AWAY.isdisjoint(action.name for action in policy.actions)


def p99_s(world: World, policy: Policy, scene: Scene) -> float:
    """P99 of the incident's requests that are served with the policy in force, in s; nan where none are.

    raises   NotAvailableError where the policy cannot be represented

    One replay and no doubts: what an order of policies takes, which is all that a rough replay is good for.
    """
    return _again(world, world.model, policy.actions, scene)["p99_s"]


def _again(world: World, model: Model, actions: Sequence[Action], scene: Scene) -> Mapping[str, float]:
    tried = trial(replace(world, model=model), actions, scene)
    return _measured(tried, tried.played()[0], scene)


def _measured(tried: Trial, total_s: Floats, scene: Scene) -> dict[str, float]:
    made = tried.world.made
    is_long, served = made.prompt >= scene.long_tokens, made.is_during & np.isfinite(total_s)
    prompts = made.prompt[served].sum()
    found = {
        "before_p99_s": _quantile(total_s, made.is_before, 0.99),
        "hit_ratio": float(made.cached[served].sum() / prompts) if prompts else np.nan,
    }
    for name, which in (("", served), ("short_", served & ~is_long), ("long_", served & is_long)):
        found[f"{name}p50_s"] = _quantile(total_s, which, 0.5)
        found[f"{name}p99_s"] = _quantile(total_s, which, 0.99)
    return found


def _quantile(total_s: Floats, which: Bools, share: float) -> float:
    values = total_s[which & np.isfinite(total_s)]
    return float(np.quantile(values, share)) if len(values) else np.nan


def _range(
    name: str, value: float, left_out: Sequence[float], others: Sequence[float], error: float
) -> Range | None:
    if not np.isfinite(value):
        return None
    spread = jackknife.half_width(left_out)
    if not np.isfinite(spread):  # without some minutes there is no such figure: how far it strays is unknown
        return None
    candidates = [value - spread, value + spread, *others]
    low, high = float(np.nanmin(candidates)), float(np.nanmax(candidates))
    if name == "hit_ratio":
        return Range(value, low, high)
    # an error is relative to what was recorded: that lies between both of these if nothing is changed
    return Range(value, low / (1 + error), high / (1 - error))
