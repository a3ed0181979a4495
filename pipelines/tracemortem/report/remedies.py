"""What can be applied as it stands? Limits for culprit ranges as nginx takes them, rules for Prometheus.

Only what the analysis itself made goes in: ranges of parsed addresses, figures, and declared rules.
"""

import math
import re
from collections.abc import Sequence

import yaml

from tracemortem.findings import Alert
from tracemortem.incident import Incident, Source

_WIDTH = 1 << 20  # yaml folds longer lines, and a query is read best as it is
_LONGEST = 80  # of a name made of an incident's


def remedies(incident: Incident) -> dict[str, str]:
    """What the section takes: `rate_limit` and `alert_rules`, each a text or "".

    Names in them hold the incident's, so that what two incidents ask for can be applied together.
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", incident.id)[:_LONGEST]
    culprits = [source for source in incident.sources if source.role == "culprit"]
    return {
        "rate_limit": rate_limit(culprits, f"culprits_{name}"),
        "alert_rules": alert_rules(incident.alerts, name),
    }


def rate_limit(culprits: Sequence[Source], zone: str) -> str:
    """A configuration for nginx by which the ranges together send as many requests as they usually do.

    culprits  the ranges with their usual_per_minute
    zone      a name of letters, digits and underscores
    returns   what belongs into `http`, and as comments what belongs into the location; "" where there is no
              range, or a usual rate is not known

    One limit for all of them, as the replay has it: clients change their address, and at least one request a
    minute, since nginx has no limit of none.
    """
    usual = [source.usual_per_minute for source in culprits if source.usual_per_minute is not None]
    if not usual or len(usual) < len(culprits):
        return ""
    rate = max(1, math.ceil(sum(usual)))
    return "\n".join(
        [
            f"geo ${zone} {{",
            '    default "";',
            *(f"    {source.cidr} culprit;" for source in culprits),
            "}",
            f"limit_req_zone ${zone} zone={zone}:1m rate={rate}r/m;",
            "",
            "# and in the location that leads to the engines (the status only once):",
            f"# limit_req zone={zone} burst={rate} nodelay;",
            "# limit_req_status 429;",
            "# or, to refuse them altogether:",
            f"# if (${zone}) {{ return 403; }}",
        ]
    )


def alert_rules(alerts: Sequence[Alert], group: str) -> str:
    """A rule file for Prometheus: the alerts that would have fired, and that metrics tell; "" without any."""
    rules = [
        {
            "alert": "".join(part.capitalize() for part in alert.rule.split("_")),
            "expr": alert.promql,
            "for": f"{alert.hold_minutes}m",
            "annotations": {"summary": f"as in {group}: {alert.text.split(';')[0]}"},
        }
        for alert in alerts
        if alert.status == "fired" and alert.promql
    ]
    if not rules:
        return ""
    groups = {"groups": [{"name": group, "rules": rules}]}
    return yaml.safe_dump(groups, sort_keys=False, width=_WIDTH, allow_unicode=True).rstrip()
