"""What can be applied as it stands? Limits for culprit ranges as nginx takes them, rules for Prometheus.

Only what the analysis itself made goes in: ranges of parsed addresses, figures, and declared rules.
"""

import math
from collections.abc import Sequence
from datetime import datetime

import yaml

from tracemortem.findings import Alert
from tracemortem.incident import Incident, Source

_ZONE = "culprit_range"
_WIDTH = 1 << 20  # yaml folds longer lines, and a query is read best as it is


def rate_limit(culprits: Sequence[Source], minutes: float) -> str:
    """A configuration for nginx by which none of the ranges sends more than the busiest of them usually does.

    culprits  with usual_requests, over the minutes
    minutes   that the incident lasted
    returns   what belongs into `http`, and as comments what belongs into the location; "" where there is no
              range, or no usual rate is known

    The limit is one for all, at least one request a minute, and holds for a range as a whole, since that is
    what was seen to send too much: clients change their address within it.
    """
    usual = [source.usual_requests for source in culprits if source.usual_requests is not None]
    if not usual or minutes <= 0:
        return ""
    rate = max(1, math.ceil(max(usual) / minutes))
    return "\n".join(
        [
            f"geo ${_ZONE} {{",
            '    default "";',
            *(f"    {source.cidr} {source.cidr};" for source in culprits),
            "}",
            f"limit_req_zone ${_ZONE} zone={_ZONE}:1m rate={rate}r/m;",
            "",
            "# and in the location that leads to the engines:",
            f"# limit_req zone={_ZONE} burst={rate} nodelay;",
            "# limit_req_status 429;",
            "# or, to refuse them altogether:",
            f"# if (${_ZONE}) {{ return 403; }}",
        ]
    )


def alert_rules(alerts: Sequence[Alert]) -> str:
    """A rule file for Prometheus: the alerts that would have fired, and that metrics tell; "" without any."""
    rules = [
        {
            "alert": "".join(part.capitalize() for part in alert.rule.split("_")),
            "expr": alert.promql,
            "for": f"{alert.hold_minutes}m",
            "annotations": {"summary": alert.text.split(";")[0]},
        }
        for alert in alerts
        if alert.status == "fired" and alert.promql
    ]
    if not rules:
        return ""
    groups = {"groups": [{"name": "llm_serving", "rules": rules}]}
    return yaml.safe_dump(groups, sort_keys=False, width=_WIDTH, allow_unicode=True).rstrip()


def remedies(incident: Incident, window_to: datetime | None) -> dict[str, str]:
    """What the section takes: `rate_limit` and `alert_rules`, each a text or "".

    window_to  until when was recorded: so long an incident without an end is known to have lasted; None:
               not known, so there is no rate
    """
    culprits = [source for source in incident.sources if source.role == "culprit"]
    until = incident.end or window_to
    minutes = (until - incident.start).total_seconds() / 60 if until else 0.0
    return {"rate_limit": rate_limit(culprits, minutes), "alert_rules": alert_rules(incident.alerts)}
