"""From which length on the prompts of a service are long: as the user set it, else as its table says."""

from collections.abc import Mapping

from tracemortem.steps.asked import Asked

_CHOSEN = "select long_from_tokens from mart.prompt_length where service = $service"


def long_from_tokens(asked: Asked, service: str, values: Mapping[str, float]) -> float:
    """Tokens from which on a prompt of that service is long.

    values   numbers of thresholds.yaml by name; what the user set goes before the table, which may have been
             made by an earlier run
    """
    if values["long_context_tokens"] > 0:
        return values["long_context_tokens"]
    rows = asked.frame(_CHOSEN, {"service": service})
    return float(rows.item()) if rows.height else values["long_default_tokens"]
