"""What things are called in the recording: services, hosts, pods and ids."""

from plan import STARTED_AT

GATEWAY_SERVICE = "counsel-gateway"
GATEWAY_HOST = "edge-01.fra3"
GATEWAY_POD = "counsel-gateway-6f7d9c5b44-x2m9q"
ENGINE_SERVICE = "counsel-llm"
LEDGER_SERVICE = "ledger-search"  # shares the nodes, not the GPUs
MODEL = "lexford/counsel-16b-moe"
VIRTUAL_HOST = "counsel.example.org"
GATEWAY, ENGINE, LEDGER, HEALTH = 1, 2, 3, 4  # kinds of ids
_EPOCH_S = int(STARTED_AT.timestamp())


def host(replica: int) -> str:
    """The GPU node of a replica."""
    return f"gpu-n{replica + 1:02d}.fra3"


def engine_pod(replica: int) -> str:
    """The engine's pod on that node."""
    return f"counsel-llm-{replica}"


def ledger_pod(replica: int) -> str:
    """The other service's pod on that node."""
    return f"ledger-search-{replica}"


def upstream(replica: int) -> str:
    """Where the gateway finds a replica."""
    return f"10.30.{1 + replica // 200}.{11 + replica % 200}:8000"


def clock_offset_ms(replica: int) -> int:
    """How far the node's clock is ahead of the gateway's."""
    return (replica * 17 + 9) % 38 - 15


def gpu_uuid(replica: int) -> str:
    """The one GPU of a node."""
    return f"GPU-{0x5D1E0A70 + replica:08x}-3c0f-7b52-91d4-{0x2A6E5F10C340 + replica * 7919:012x}"


def trace_id(kind: int, started_ms: int, number: int) -> str:
    """Time, gateway and a counter, not noise: a recording full of random ids would not compress."""
    return f"{_EPOCH_S + started_ms // 1000:08x}9e10c2a7{span_id(kind, number)}"


def span_id(kind: int, number: int) -> str:
    """Unique over the recording: number counts within a kind (GATEWAY, ENGINE, LEDGER, HEALTH)."""
    return f"{kind:x}{number:015x}"
