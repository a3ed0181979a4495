"""Step 6: what policies would have done about each incident, on the recorded requests."""

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from math import isfinite
from pathlib import Path

from tracemortem import folders
from tracemortem.errors import SettingError
from tracemortem.findings import Forecast, Replay, WhatIf
from tracemortem.incident import Incident
from tracemortem.progress import stage
from tracemortem.replay.forecast import doubt, forecast, p99_s, replays
from tracemortem.replay.policy import Policy, policies, policy
from tracemortem.replay.resets import World
from tracemortem.replay.trial import NotAvailableError, Scene
from tracemortem.settings import Settings, objective_s
from tracemortem.steps import answer, opened
from tracemortem.steps.asked import Asked
from tracemortem.steps.diagnosis import keep, kept
from tracemortem.steps.long_prompts import long_from_tokens
from tracemortem.steps.world import Missing, rebuilt
from tracemortem.warehouse.ask import Published


def what_if(settings: Settings) -> int:
    """Try the product's policies on every replayed incident of meta.diagnosis; returns how many could be."""
    values = opened.values(settings)
    with opened.store(settings) as store, stage("policies") as told:
        diagnosis = kept(store)
        ours = policies(_FOLDER)
        incidents = tuple(
            changed(one, what_if=tried(store, one, ours, values, settings.objective))
            for one in diagnosis.incidents
        )
        keep(store, changed(diagnosis, incidents=incidents))
        count = sum(one.predicted is not None for incident in incidents for one in incident.what_if)
        told.advance(0, count)
    return count


def asked_for(settings: Settings, incident_id: str, own: Sequence[str], *, as_json: bool) -> str:
    """What policies would have done about an incident of a published file, as text for people or programs.

    own      files of policies, tried instead of the product's
    raises   SettingError if the file has no such incident, a policy cannot be read or two have one name,
             DefinitionError for a faulty policy, WarehouseError if the file cannot be read
    """
    chosen = _own(own) or policies(_FOLDER)
    with Published(settings.published()) as asked, stage("policies"):
        incidents = {one.id: one for one in kept(asked).incidents}
        if incident_id not in incidents:
            raise SettingError(
                f"no incident is called {incident_id!r}",
                where="--incident",
                why=f"the file has {', '.join(incidents) or 'none'}",
                fix="name one of these; report.json lists them as id",
            )
        numbers = dict(asked.frame("select name, value from meta.threshold order by name").iter_rows())
        values = {**opened.values(settings), **numbers, **opened.given(settings)}
        incident = incidents[incident_id]
        rows = tried(asked, incident, chosen, values, settings.objective)
    return answer.policies_as_json(incident, rows) if as_json else answer.policies(incident, rows)


def tried(
    asked: Asked,
    incident: Incident,
    chosen: Sequence[Policy],
    values: Mapping[str, float],
    objective: str | None,
) -> tuple[WhatIf, ...]:
    """What each policy would have done; () where the incident was not replayed at all.

    objective   p99=DURATION; None: latency within recovered_ratio of the baseline
    """
    replay = incident.replay
    if replay is None:
        return ()
    target_s = _target_s(incident, values, objective)
    if replay.status == "not_available":
        return tuple(_untold(one, replay.text, None, target_s) for one in chosen)
    if (
        not replay.during_recorded_s
        or replay.during_replayed_s is None
        or not replay.before_recorded_s
        or replay.before_replayed_s is None
    ):
        why = "Not available: how well the replay agrees with the recording is not known."
        return tuple(_untold(one, why, None, target_s) for one in chosen)
    found = rebuilt(asked, incident, values)
    if isinstance(found, Missing):
        return tuple(_untold(one, f"Not available: {found.why}.", None, target_s) for one in chosen)
    error = replay.during_replayed_s / replay.during_recorded_s - 1
    culprits = tuple(source.cidr for source in incident.sources if source.role == "culprit")
    long_tokens = long_from_tokens(asked, incident.service, values)
    scene = Scene(found.clients, culprits, long_tokens, found.is_size_told)
    status, why = _affordable(replay, len(found.world.made.prompt), chosen, values)
    if status == "not_available":
        return tuple(_untold(one, why, error, target_s) for one in chosen)
    if status == "quantified":
        errors = error, replay.before_replayed_s / replay.before_recorded_s - 1
        rows = _with_figures(found.world, scene, chosen, errors, target_s)
    else:
        rows = _in_order(found.world, scene, chosen, why, error, target_s)
    return rows


def with_cheapest(rows: Sequence[WhatIf]) -> tuple[WhatIf, ...]:
    """Ranks by predicted P99, and the cheapest of those that keep the objective.

    Cheapest is first what leaves the fewest people without their whole answer, in whole percents of the
    requests; then the least effort. A setting that turns a third of the clients away is not cheap.
    """
    keeping = [
        (_price(one.effort, one.predicted), one.policy)
        for one in rows
        if one.keeps == "yes" and one.predicted
    ]
    cheapest = min(keeping)[1] if keeping else None
    p99s = {one.policy: one.predicted.p99_s.value for one in rows if one.predicted and one.predicted.p99_s}
    return ranked([changed(one, is_cheapest=one.policy == cheapest) for one in rows], p99s)


def ranked(rows: Sequence[WhatIf], p99s: Mapping[str, float]) -> tuple[WhatIf, ...]:
    """Ranks by P99, the lowest first; p99s: in s, by policy, of those that have one."""
    order = sorted((value, name) for name, value in p99s.items())
    place = {name: number for number, (_, name) in enumerate(order, 1)}
    return tuple(changed(one, rank=place.get(one.policy)) for one in rows)


def sentence(predicted: Forecast) -> str:
    """How many requests a policy leaves without their whole answer, and why; for people."""
    unanswered = (
        (predicted.rejected, "refused"),
        (predicted.elsewhere, "answered otherwise"),
        (predicted.cut, "cut short"),
    )
    told = [
        f"{count:,} of {predicted.requests:,} requests ({100 * count / predicted.requests:.1f} %) {how}"
        for count, how in unanswered
        if count
    ]
    if predicted.rejected_before:
        told.append(f"{predicted.rejected_before:,} refused in the baseline")
    if predicted.unfit:
        told.append(
            f"{predicted.unfit:,} of {predicted.requests:,} requests fit in no engine even without it"
        )
    return f"{'; '.join(told)}." if told else "All requests are answered."


_FOLDER = folders.definitions("replay", "policies")


def _own(files: Sequence[str]) -> tuple[Policy, ...]:
    found: dict[str, tuple[str, Policy]] = {}
    for file in files:
        one = _read(Path(file))
        if one.name in found:
            raise SettingError(
                f"two policies are called {one.name!r}",
                where=f"--policy {found[one.name][0]} --policy {file}",
                why="ranks and figures are told by a policy's name, and these would be mixed up",
                fix="write another name after policy: in one of them, or give it once",
            )
        found[one.name] = file, one
    return tuple(one for _, one in found.values())


def _read(path: Path) -> Policy:
    try:
        return policy(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(
            f"{path} cannot be read",
            where="--policy",
            why=str(getattr(error, "strerror", None) or error),
            fix="name a file of YAML in UTF-8 that is there and may be read",
        ) from error


def _affordable(
    replay: Replay, count: int, chosen: Sequence[Policy], values: Mapping[str, float]
) -> tuple[str, str]:
    """What may be told of policies, quantified, ranked or not_available, and why no more.

    It is what the replay is good for, and of so many requests what policies_replayed_requests allows: by
    counts alone and by no clock, as the same input must be told the same on any machine.
    """
    most = values["policies_replayed_requests"]
    if count * len(chosen) > most:
        return "not_available", f"Not available: {_beyond(count, len(chosen), most)}"
    if replay.status == "quantified" and count * replays(chosen) > most:
        why = "Ranges are not calculated, and no figure is told without one"
        return "ranked", f"{why}: {_beyond(count, replays(chosen), most)}"
    return replay.status, replay.text


def _beyond(count: int, times: int, most: float) -> str:
    return (
        f"policies would take as long as {times:,} replays of {count:,} requests, and for an incident "
        f"policies_replayed_requests allows {most:,.0f} replayed requests. what-if tells more of fewer "
        "policies (--policy), or with a higher number (--set)."
    )


def _with_figures(
    world: World,
    scene: Scene,
    chosen: Sequence[Policy],
    errors: tuple[float, float],
    target_s: float | None,
) -> tuple[WhatIf, ...]:
    """Policies with ranges; errors: relative, of the replayed P99s of the incident and of the baseline."""
    doubts = doubt(world, max(map(abs, errors)))
    rows = []
    for one in chosen:
        try:
            predicted = forecast(world, one, scene, doubts)
        except NotAvailableError as why:
            rows.append(_untold(one, f"Not available: {why}.", errors[0], target_s))
        else:
            rows.append(_told(one, predicted, errors[0], target_s))
    return with_cheapest(rows)


def _in_order(
    world: World,
    scene: Scene,
    chosen: Sequence[Policy],
    why: str,
    error: float,
    target_s: float | None,
) -> tuple[WhatIf, ...]:
    """Policies by rank, without figures: no range is told, so that none of its replays are made."""
    rows, p99s = [], {}
    for one in chosen:
        try:
            value = p99_s(world, one, scene)
        except NotAvailableError as lacking:
            rows.append(_untold(one, f"Not available: {lacking}.", error, target_s))
        else:
            rows.append(changed(_untold(one, why, error, target_s), status="ranked"))
            if isfinite(value):
                p99s[one.name] = value
    return ranked(rows, p99s)


def _target_s(incident: Incident, values: Mapping[str, float], objective: str | None) -> float | None:
    if objective is not None:
        return objective_s(objective)
    return None if incident.baseline is None else values["recovered_ratio"] * incident.baseline


def _untold(one: Policy, why: str, error: float | None, target_s: float | None) -> WhatIf:
    return WhatIf(
        policy=one.name, title=one.title, status="not_available", text=why, effort=one.effort,
        assumes=one.assumes, rank=None, fit_error=error, objective_s=target_s, keeps=None, is_cheapest=False,
        predicted=None,
    )  # fmt: skip


def _told(one: Policy, predicted: Forecast, error: float, target_s: float | None) -> WhatIf:
    return changed(
        _untold(one, sentence(predicted), error, target_s),
        status="quantified",
        keeps=_keeps(predicted, target_s),
        predicted=predicted,
    )


def _keeps(predicted: Forecast, target_s: float | None) -> str | None:
    if target_s is None or predicted.p99_s is None:
        return None
    if predicted.p99_s.high <= target_s:
        return "yes"
    return "perhaps" if predicted.p99_s.low <= target_s else "no"


def _price(effort: int, predicted: Forecast) -> tuple[int, int, int]:
    refused = round(100 * (predicted.rejected + predicted.cut) / predicted.requests)
    return refused, effort, predicted.elsewhere
