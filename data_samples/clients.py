"""Who the clients are: addresses from ranges kept for documentation and benchmarks, so that nobody is meant.

Most clients reach the gateway through a load balancer, which appends the address it saw to X-Forwarded-For;
a few send such a header of their own, with junk in it. What a direct client claims there is worth nothing.
"""

from dataclasses import dataclass
from random import Random

AUDIT_NETWORKS = ("192.0.2", "198.51.100", "203.0.113")  # RFC 5737
LOAD_BALANCERS = ("10.20.0.11", "10.20.0.12", "10.20.0.13")
_AGENTS = ("python-requests/2.31.0", "okhttp/4.12.0", "node-fetch/3.3.2", "counsel-web/5.2", "Go-http-client")
_JUNK = ("10.0.0.7", "unknown", "127.0.0.1", "198.51.100.99", "1.2.3.4, 172.16.0.9")


@dataclass(frozen=True, slots=True)
class Client:
    """Where a request comes from, as the gateway sees it.

    address        the client's own
    network        the first three groups of it
    peer           the address of the connection: the client's, or a load balancer's
    forwarded_for  the X-Forwarded-For header as received, "" if none
    """

    address: str
    network: str
    peer: str
    forwarded_for: str
    user_agent: str


def ordinary_client(rng: Random) -> Client:
    """One of the service's usual clients: RFC 2544 IPv4 or RFC 3849 IPv6."""
    number = rng.randrange(240)
    if number % 6 == 0:
        network = f"2001:db8:{0x10 + number % 40:x}"
        address = f"{network}::{0x100 + number:x}"
    else:
        network = f"198.18.{number % 40}"
        address = f"{network}.{10 + number}"
    return _reached(rng, address, network, is_direct=number % 5 in (1, 2), agent=_AGENTS[number % 5])


def audit_client(rng: Random, number: int, *, is_batch: bool) -> Client:
    """A person or a batch worker of the audit department, in one of its three ranges."""
    network = AUDIT_NETWORKS[number % 3]
    address = f"{network}.{(160 if is_batch else 20) + number // 3 % 60}"
    agent = "clause-audit/2.3 (batch)" if is_batch else "counsel-web/5.2"
    return _reached(rng, address, network, is_direct=number % 3 == 2, agent=agent)


def _reached(rng: Random, address: str, network: str, *, is_direct: bool, agent: str) -> Client:
    claim = rng.choice(_JUNK) if rng.random() < 0.02 else ""
    if is_direct:
        return Client(address, network, address, claim, agent)
    header = f"{claim}, {address}" if claim else address
    return Client(address, network, rng.choice(LOAD_BALANCERS), header, agent)
