"""A file is read as a bounded stream of its decompressed bytes, and what is no text is named."""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tracemortem.errors import InputError
from tracemortem.sources.opened import foreign, head, opened


def zstd(content: bytes) -> bytes:
    packed: bytes = pa.compress(content, codec="zstd", asbytes=True)
    return packed


def read(path: Path, **limits: int) -> bytes:
    with opened(path, **limits) as stream:
        return stream.read()


def test_a_plain_file_is_read_as_it_is(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    assert read(path) == b"one\ntwo\n"


def test_every_member_of_a_gzip_is_read(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"") + gzip.compress(b"two\n") + b"\0" * 512)
    assert read(path) == b"one\ntwo\n"


def test_the_head_of_a_gzip_goes_over_the_end_of_its_first_member(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert head(path, 6) == b"one\ntw"


def test_the_head_of_a_gzip_cut_off_is_what_it_holds(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(b"one\n")[:-9])
    assert b"one\n".startswith(head(path))


def test_a_gzip_cut_off_gives_what_is_there_and_then_an_error(tmp_path: Path):
    path = tmp_path / "cut.gz"
    content = b"".join(b"line %d\n" % number for number in range(50_000))
    path.write_bytes(gzip.compress(content)[:-20])
    with opened(path) as stream:
        assert content.startswith(stream.read(100_000))
        with pytest.raises(InputError) as caught:
            stream.read()
    assert str(caught.value) == (
        "the gzip file cut.gz ends early\n"
        f"  where  {path}\n"
        "  why    the last member is cut off\n"
        "  fix    copy it again, in full"
    )


def test_a_gzip_that_is_damaged_is_an_error(tmp_path: Path):
    path = tmp_path / "bad.gz"
    content = bytearray(gzip.compress(b"one two three four\n" * 100))
    content[-6] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"bad.gz is damaged"):
        read(path)


def test_text_after_the_last_member_is_damage(tmp_path: Path):
    path = tmp_path / "bad.gz"
    path.write_bytes(gzip.compress(b"one\n") + b"two\n")
    with pytest.raises(InputError, match=r"bad.gz is damaged"):
        read(path)


def test_a_gzip_that_holds_more_than_the_limit_is_an_error(tmp_path: Path):
    path = tmp_path / "large.gz"
    path.write_bytes(gzip.compress(b"x" * 5000))
    with pytest.raises(InputError, match=r"large.gz is too large"):
        read(path, limit=4999)


def test_a_decompression_bomb_is_an_error(tmp_path: Path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\0" * (80 << 20)))
    with pytest.raises(InputError, match=r"bomb.gz looks like a decompression bomb"):
        read(path)


def test_every_frame_of_a_zstd_is_read(tmp_path: Path):
    path = tmp_path / "log"
    skippable = b"\x53\x2a\x4d\x18\x05\0\0\0hello"
    path.write_bytes(skippable + zstd(b"one\n") + zstd(b"") + skippable + zstd(b"two\n"))
    assert read(path) == b"one\ntwo\n"


def test_the_head_of_a_zstd_goes_over_the_end_of_its_first_frame(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(zstd(b"one\n") + zstd(b"two\n"))
    assert head(path, 6) == b"one\ntw"


@pytest.mark.parametrize("lost", [1, 3, 2000])
def test_a_zstd_cut_off_gives_what_is_there_and_then_an_error(tmp_path: Path, lost: int):
    path = tmp_path / "cut.zst"
    content = b"".join(b"line %d\n" % number for number in range(300_000))
    path.write_bytes(zstd(content)[:-lost])
    with opened(path) as stream:
        assert content.startswith(stream.read(100_000))
        with pytest.raises(InputError) as caught:
            stream.read()
    assert str(caught.value) == (
        "the zstd file cut.zst ends early\n"
        f"  where  {path}\n"
        "  why    Truncated compressed stream\n"
        "  fix    copy it again, in full"
    )


@pytest.mark.parametrize("tail", [b"two\n", zstd(b"x" * 99)[:9] + b"\xff" * 9], ids=["text", "a bad frame"])
def test_what_is_no_frame_after_the_last_is_damage(tmp_path: Path, tail: bytes):
    path = tmp_path / "bad.zst"
    path.write_bytes(zstd(b"one\n") + tail)
    with pytest.raises(InputError, match=r"the zstd file bad.zst is damaged"):
        read(path)


def test_a_zstd_that_asks_for_a_window_of_more_than_128_mib_is_an_error(tmp_path: Path):
    path = tmp_path / "wide.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00")  # window descriptor: 2 ** 28
    with pytest.raises(InputError, match="requires too much memory"):
        read(path)
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00")  # 2 ** 27, one empty block
    assert read(path) == b""


def test_a_file_compressed_twice_is_read(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(zstd(gzip.compress(b"one\n"))))
    assert (read(path), head(path)) == (b"one\n", b"one\n")


def test_what_ends_early_inside_another_layer_is_named(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(zstd(gzip.compress(b"one\n")[:-2]))
    with pytest.raises(InputError, match="the gzip file log ends early"):
        read(path)
    path.write_bytes(gzip.compress(zstd(b"one\n" * 99))[:-20])
    with pytest.raises(InputError, match="the gzip file log ends early"):
        read(path)


def _zstd_bomb() -> bytes:
    return zstd(b"\0" * (80 << 20))


@pytest.mark.parametrize(
    "bomb",
    [
        lambda: gzip.compress(_zstd_bomb() * 2000),
        lambda: zstd(gzip.compress(gzip.compress(b"\0" * (80 << 20)) * 99)),
        lambda: _zstd_bomb() * 200,
    ],
    ids=["zstd in gzip", "gzip in gzip in zstd", "zstd"],
)
def test_a_bomb_is_an_error_before_it_takes_memory(
    tmp_path: Path, repo_root: Path, bomb: Callable[[], bytes]
):
    path = tmp_path / "bomb"
    path.write_bytes(bomb())
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from tracemortem.errors import InputError\n"
        "from tracemortem.sources.blocks import blocks\n"
        "from tracemortem.sources.opened import opened\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    with opened(Path(sys.argv[1])) as stream:\n"
        "        for _ in blocks(stream): pass\n"
        "except InputError as error:\n"
        "    print(error.what)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(repo_root / "pipelines")},
    )
    what, grown_mib = done.stdout.splitlines()
    assert what.endswith("bomb looks like a decompression bomb")
    assert int(grown_mib) < 150  # a line of 16 MiB is held while it may still end


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be opened"):
        read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("beginning", "what"),
    [
        (b"", "an empty file"),
        (b"\x1f\x8b\x08\x00", "a file compressed more than 3 times over"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "a file compressed more than 3 times over"),
        (b"\xfd7zXZ\0", "an xz file"),
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"PK\x03\x04\x14\x00", "a zip archive"),
        (b"\0" * 257 + b"ustar\0", "a tar archive"),
        (b"\xba\xaa\xd7\x00\x01", "the index of a block of Prometheus' own database"),
        (b"\x85\xbd\x40\xdd\x01", "samples of Prometheus' own database"),
        (b"\x01\x30\xba\x30\x01", "a list of what was deleted from Prometheus' own database"),
        (b"12345678DUCK@", "a DuckDB file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer, not the file"),
        (b"\n<!DOCTYPE html>\n<html>", "an HTML page"),
        (b"\xff\xfe{\0", "text in UTF-16"),
        (b"\0" * 4096, "a run of NUL bytes"),
        (b"\0\x01\x02\x0a\0\x05\x06" * 40, "a binary file"),
    ],
)
def test_what_is_no_telemetry_is_named(beginning: bytes, what: str):
    found = foreign(beginning)
    assert found is not None
    assert found[0] == what


@pytest.mark.parametrize(
    "beginning", [b"{}\n", b"caf\xe9 \x1b[32mok\n", bytes(3) + b"198.51.100.7 - - [", b"<13>x"]
)
def test_text_however_damaged_is_let_through(beginning: bytes):
    assert foreign(beginning) is None
