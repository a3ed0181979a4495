"""What people wrote down that night: events, most of them innocent."""

import json
from typing import TextIO

from plan import HOURS, Plan, instant

_MINUTE = 60.0
_ALWAYS = (
    (11.2, "deploy", "marketing site 2023.46 rolled out (static assets only)"),
    (49.7, "deploy", "counsel-web 5.2.1: new help texts, no change to requests"),
    (71.3, "config", "log retention of ledger-search raised from 14 to 21 days"),
    (118.5, "note", "certificate of counsel.example.org renewed"),
)
_INCIDENT = (
    (63.1, "complaint", "customer service: answers take several seconds, three clients in ten minutes"),
    (65.9, "page", "on-call acknowledged: p99 of counsel above objective for 5 minutes"),
    (66.8, "note", "hpa: no scaling, GPU utilisation is below its target of 80 %"),
    (72.4, "complaint", "customer service: eleven more clients report slow answers, none reports an error"),
    (75.0, "note", "infrastructure cleared: temperatures, ECC, clocks and TCP retransmissions as usual"),
    (82.6, "note", "compliance audit confirms: clause analysis of whole contracts runs since 02:17"),
)
_RULE = (
    "gateway rule: long requests of the compliance audit's three ranges wait in a queue of their own, "
    "about twenty an hour pass, the rest is answered 429"
)


def write_events(out: TextIO, plan: Plan) -> None:
    """The events of a recording, in order; a quiet night has only the innocent ones."""
    share = min(1.0, plan.hours / HOURS)
    events = [(minute * _MINUTE * share, kind, text) for minute, kind, text in _ALWAYS]
    if plan.has_batch:
        events += [(minute * _MINUTE * share, kind, text) for minute, kind, text in _INCIDENT]
        events.append((plan.mitigated_at, "mitigation", _RULE))
    for at, kind, text in sorted(events):
        time = instant(at).isoformat(timespec="seconds").replace("+00:00", "Z")
        out.write(json.dumps({"time": time, "kind": kind, "text": text}) + "\n")
