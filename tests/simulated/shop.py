"""How a made-up shop is set up: its fleet, its clients, and what its telemetry looks like."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from random import Random

from simulated.hardware import Hardware

_WORDS = (
    "alder",
    "basin",
    "cobalt",
    "drift",
    "elm",
    "fjord",
    "gable",
    "heron",
    "inlet",
    "juniper",
    "kiln",
    "lark",
)
_ROLES = ("chat", "assist", "summary", "search", "code", "support")
_EDGES = ("gateway", "proxy", "edge", "ingress")
_ENGINES = ("llm", "vllm", "engine", "inference")


@dataclass(frozen=True)
class Node:
    """Where a replica runs."""

    pod: str
    address: str
    host: str
    clock_s: float


@dataclass(frozen=True)
class Tenant:
    """One group of clients.

    networks  (first address, prefix length) of the ranges it sends from
    kind      chat (sessions that grow), rag (documents that many ask about) or report (long answers)
    """

    name: str
    kind: str
    networks: tuple[tuple[str, int], ...]
    weight: float
    system_tokens: int
    body_tokens: tuple[int, int]
    question_tokens: int
    output_tokens: int
    library: int
    is_direct: bool


@dataclass(frozen=True)
class Shop:
    """A service, its fleet and its instruments; times in seconds, start in Unix seconds."""

    name: str
    gateway: str
    engine: str
    model: str
    start: int
    minutes: int
    nodes: tuple[Node, ...]
    gpus: int
    balancing: str
    hardware: Hardware
    tenants: tuple[Tenant, ...]
    per_s: float
    error_ratio: float
    scrape_s: int
    dialect: str
    says_cached: bool
    says_config: bool
    has_events: bool
    metrics_as: str
    peers: tuple[str, ...]
    client_timeout_s: float
    metric_names: str = "vllm"
    scrape_jitter: float = 0.0  # of the time between scrapes, either way
    has_gateway_spans: bool = True
    has_access_log: bool = True
    has_dram: bool = True
    has_decoy: bool = False  # an innocent deploy at the onset, always
    hides_clients: bool = False  # all are behind one address
    is_closed_loop: bool = False  # a session asks again only once it was answered
    lengths: float = 1.0  # all prompts are so many times as long, and a token costs as much less


def draw_shop(
    rng: Random,
    *,
    replicas: tuple[int, int] = (2, 5),
    load: tuple[float, float] = (0.12, 0.3),
    per_s: tuple[float, float] = (0.8, 1.8),
) -> Shop:
    """A shop drawn at random. load: share of time that engines compute; per_s: requests; from and to."""
    name = f"{rng.choice(_WORDS)}-{rng.choice(_ROLES)}"
    engine = f"{name}-{rng.choice(_ENGINES)}"
    count = rng.randint(*replicas)
    site = f"{rng.choice(('n', 'gpu', 'node', 'h100'))}"
    is_set = rng.random() < 0.4  # a StatefulSet keeps its names
    template = f"{rng.getrandbits(40):010x}"
    net = rng.randint(10, 250)
    nodes = tuple(
        Node(
            pod=f"{engine}-{place}" if is_set else f"{engine}-{template}-{_suffix(rng)}",
            address=f"10.{net}.{rng.randint(1, 250)}.{rng.randint(1, 250)}",
            host=f"{site}-{number:03d}.{name.split('-', maxsplit=1)[0]}",
            clock_s=rng.gauss(0, 0.012),
        )
        for place, number in enumerate(rng.sample(range(1, 200), count))
    )
    minutes = rng.randint(80, 105)
    tenants, rate = _tenants(rng), rng.uniform(*per_s)
    return Shop(
        name=name,
        gateway=f"{name}-{rng.choice(_EDGES)}",
        engine=engine,
        model=f"{rng.choice(_WORDS)}/{rng.choice(_WORDS)}-{rng.choice(('8b', '14b', '32b'))}",
        start=1_735_689_600 + 60 * rng.randrange(525_600) + rng.choice((0, 0, 17)),
        minutes=minutes,
        nodes=nodes,
        gpus=rng.choice((1, 1, 2, 4)),
        balancing=rng.choice(("round_robin", "least_conn", "hash_session")),
        hardware=_hardware(rng, tenants, rng.uniform(*load) * count / rate),
        tenants=tenants,
        per_s=rate,
        error_ratio=rng.choice((0.0005, 0.002, 0.004)),
        scrape_s=rng.choice((10, 15, 15, 15, 30)),
        dialect=rng.choice(("v1", "v1", "v1", "v0")),
        says_cached=rng.random() < 0.5,
        says_config=rng.random() < 0.5,
        has_events=rng.random() < 0.7,
        metrics_as=rng.choice(("text", "text", "query_range")),
        peers=tuple(f"10.{net + 1}.0.{rng.randint(1, 250)}" for _ in range(rng.randint(1, 3))),
        client_timeout_s=60.0,
    )


def _suffix(rng: Random) -> str:
    return "".join(rng.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(5))


def _hardware(rng: Random, tenants: tuple[Tenant, ...], request_s: float) -> Hardware:
    """So fast that a usual request, two thirds of its prompt in the cache, takes so long to compute."""
    prompt = sum(one.weight * (one.system_tokens + sum(one.body_tokens) / 2) for one in tenants)
    uncached = prompt / sum(one.weight for one in tenants) / 3
    weights_s = rng.uniform(0.006, 0.012)
    return Hardware(
        host_s=rng.uniform(0.002, 0.004),
        token_s=min(400e-6, max(30e-6, request_s / uncached)),
        sequence_s=rng.uniform(2e-5, 6e-5),
        weights_s=weights_s,
        context_s=rng.uniform(4e-8, 9e-8),  # 80 to 180 KB of KV a token at 2 TB/s
        overlap=rng.uniform(0.1, 0.4),
        kv_tokens=rng.randint(120_000, 320_000),
        max_sequences=rng.choice((64, 128)),
        batched_tokens=rng.choice((2048, 2048, 4096)),
    )


def _tenants(rng: Random) -> tuple[Tenant, ...]:
    found = []
    for place in range(rng.randint(5, 8)):
        kind = "rag" if place == 0 else "chat" if place == 1 else rng.choice(("chat", "rag", "rag"))
        found.append(draw_tenant(rng, kind, rng.choice(_WORDS) + str(place)))
    return tuple(found)


def draw_tenant(rng: Random, kind: str, name: str, *, is_narrow: bool = False) -> Tenant:
    """A tenant of that kind; is_narrow: it sends from a few /24 or /64 only, as a batch job does."""
    lengths = (24,) if is_narrow else (24, 24, 20, 16, 64, 64, 48)
    networks = tuple(draw_network(rng, rng.choice(lengths)) for _ in range(rng.randint(1, 3)))
    return Tenant(
        name=name,
        kind=kind,
        networks=networks,
        weight=rng.uniform(0.5, 1.5),
        system_tokens=rng.randrange(200, 1400, 16),
        body_tokens=(600, 2600) if kind == "rag" else (150, 500),
        question_tokens=rng.randint(30, 150),
        output_tokens=rng.randint(30, 110),
        library=rng.randint(15, 60),
        is_direct=rng.random() < 0.4,
    )


def draw_network(rng: Random, length: int) -> tuple[str, int]:
    """A range of that prefix length; 48 and 64 are IPv6."""
    if length > 32:
        first = (0x2A00 + rng.randrange(16)) << 112 | rng.getrandbits(length - 16) << (128 - length)
        return str(IPv6Address(first)), length
    first = rng.choice((23, 31, 45, 62, 77, 91, 103, 141, 163, 185, 193, 203)) << 24
    first |= rng.getrandbits(length - 8) << (32 - length)
    return str(IPv4Address(first)), length


def draw_address(rng: Random, network: tuple[str, int]) -> str:
    """A client's address in a range; of a wide IPv6 range, few of its /64 are used."""
    first, length = network
    if ":" in first:
        base = int(IPv6Address(first))
        low = rng.randrange(200) << 64 if length < 64 else 0
        return str(IPv6Address(base | low | rng.randrange(1, 400)))
    # a wide range shows few of its /24
    spread = rng.randrange(min(1 << (32 - length), 1 << 24) >> 8 or 1) << 8 if length < 24 else 0
    return str(IPv4Address(int(IPv4Address(first)) | spread | rng.randrange(1, 255)))
