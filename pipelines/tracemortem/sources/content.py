"""What a file holds once it is decompressed: its hash, how far its lines go, and how it begins."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tracemortem.sources.opened import head
from tracemortem.sources.unpacked import packing

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BEGINNING = 512
_STEP = 1 << 20


@dataclass(frozen=True)
class Content:
    """Decompressed content, or the part of it up to some place.

    sha256  in hex
    length  bytes
    whole   bytes up to the end of the last line that has one
    lines   line ends
    """

    sha256: str
    length: int
    whole: int
    lines: int


class Followed(io.BufferedIOBase):
    """A stream of decompressed bytes that knows the content of what went through it."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream = stream
        self._digest = hashlib.sha256()
        self._length = self._whole = self._lines = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        data = self._stream.read(-1 if size is None else size)
        self._digest.update(data)
        if ends := data.count(b"\n"):
            self._lines += ends
            self._whole = self._length + data.rfind(b"\n") + 1
        self._length += len(data)
        return data

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer)
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def skip(self, to: int) -> Content:
        """Go on until `to` bytes went through, or to the end; what they are."""
        while self._length < to and self.read(min(_STEP, to - self._length)):
            pass
        return self.content()

    def rest(self) -> Content:
        """Go on to the end; what the whole is."""
        while self.read(_STEP):
            pass
        return self.content()

    def ends_line(self) -> bool:
        """Whether a line end comes next; it went through if so."""
        following = self.read(1)
        if following == b"\r":
            following = self.read(1)
        return following == b"\n"

    def content(self) -> Content:
        """What went through so far."""
        return Content(self._digest.hexdigest(), self._length, self._whole, self._lines)


def beginning(path: Path) -> str:
    """The first bytes of a file, decompressed, in hex.

    raises   OSError where it cannot be opened
    """
    return head(path, BEGINNING).hex()


def packed_sha256(path: Path) -> str | None:
    """The digest of a compressed file as it lies; None for a plain one, which is its content.

    raises   OSError where it cannot be opened
    """
    with path.open("rb") as stream:
        if not packing(stream.read(4)):
            return None
    return file_sha256(path)


def file_sha256(path: Path) -> str:
    """The digest of a file as it lies.

    raises   OSError where it cannot be opened
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
