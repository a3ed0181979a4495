"""Messages of OTLP made at random by their own descriptors, and bytes of them damaged as files are."""

from random import Random

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from tracemortem.sources import attributes
from tracemortem.sources.otlp_shape import Attributes

WANTED = [*attributes.names(Attributes("span")), *attributes.names(Attributes("span", is_own=True))]
_TEXTS = (
    "",
    "a",
    "true",
    "7",
    "-3.5",
    "35.2ms",
    "ключ",
    "a\0b",
    "鍵" * 9,
    "https://x.example/v1?q=1",
    "0" * 32,
)
_NUMBERS = (0, 1, 2, 3, 200, 2**31 - 1, 2**31, 2**32 - 1, 1_777_142_984_578_685_500, 2**63 - 1)
_REALS = (0.0, -0.0, 1.0, 0.25, 1e300, float("inf"), float("-inf"), float("nan"))
_DEEPEST = 9


def message(random: Random) -> Message:
    """A message of any signal, most often of traces, most often with ids as long as they should be."""
    made = random.choices((TracesData, MetricsData, LogsData), (8, 1, 1))[0]()
    _fill(made, random, 0, is_usual=random.random() < 0.8)
    return made


def _fill(message: Message, random: Random, depth: int, *, is_usual: bool) -> None:
    for field in message.DESCRIPTOR.fields:
        if random.random() < (0.1 if is_usual else 0.35) or depth == _DEEPEST:
            continue
        if field.is_repeated:
            for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3))):
                if not field.message_type:
                    getattr(message, field.name).append(_value(field, random))
                else:
                    _fill(getattr(message, field.name).add(), random, depth + 1, is_usual=is_usual)
        elif not field.message_type:
            setattr(message, field.name, _value(field, random))
        else:
            getattr(message, field.name).SetInParent()
            _fill(getattr(message, field.name), random, depth + 1, is_usual=is_usual)
    if is_usual and isinstance(message, Span):
        message.trace_id, message.span_id = random.randbytes(16), random.randbytes(8)
        message.parent_span_id = random.choice((b"", bytes(8), random.randbytes(8)))
        message.start_time_unix_nano = 1_777_142_984_578_685_500
        message.end_time_unix_nano = message.start_time_unix_nano + random.randrange(-5, 10**9)


def _value(field: FieldDescriptor, random: Random) -> object:
    number = random.choice(_NUMBERS)
    signed = number * random.choice((1, -1))
    values: dict[int, object] = {
        FieldDescriptor.TYPE_STRING: random.choice(WANTED if field.name == "key" and number else _TEXTS),
        FieldDescriptor.TYPE_BYTES: random.randbytes(random.choice((0, 5, 8, 8, 16, 16))),
        FieldDescriptor.TYPE_BOOL: number > 1,
        FieldDescriptor.TYPE_DOUBLE: random.choice(_REALS),
        FieldDescriptor.TYPE_FIXED64: number if random.random() < 0.98 else 2**64 - 1,
        FieldDescriptor.TYPE_UINT64: number,
        FieldDescriptor.TYPE_FIXED32: number % 2**32,
        FieldDescriptor.TYPE_UINT32: number % 2**32,
        FieldDescriptor.TYPE_INT64: signed,
        FieldDescriptor.TYPE_SFIXED64: signed,
    }
    return values.get(field.type, abs(signed) % 2**31 * (1 if signed >= 0 else -1))


def damaged(body: bytes, random: Random) -> bytes:
    """Bytes as they may become on the way: cut off, changed, doubled, with fields that nobody knows."""
    for _ in range(random.choice((1, 1, 2, 4))):
        at, to = sorted(random.randrange(len(body) + 1) for _ in range(2))
        body = random.choice(
            (
                body[:at],
                body[:at] + bytes([random.randrange(256)]) + body[at + 1 :],
                body[:at] + body[to:],
                body[:to] + body[at:to] + body[to:],
                body + body[at:to],
                body + body,
                body
                + bytes.fromhex(
                    random.choice(("9a06020a00", "0a00", "0d01020304", "0b0c", "08ff01", "9803"))
                ),
                body[:at] + random.randbytes(3) + body[at:],
            )
        )
    return body
