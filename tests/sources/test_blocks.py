"""A text stream is cut into blocks at line ends, and no line is ever lost, doubled or held without bound."""

import io

from hypothesis import given, settings
from hypothesis import strategies as st

from tracemortem.sources.blocks import Block, blocks, lines, overlong

PIECES = st.lists(st.sampled_from([b"\n", b"a", b"bc\n", b"\n\n", b"x" * 9, b"y" * 40, b"\r\n"]), max_size=30)


def split(blocks_of_text: list[Block]) -> list[bytes | None]:
    found: list[bytes | None] = []
    for block in blocks_of_text:
        found += [None] if block.overlong is not None else block.text.removesuffix(b"\n").split(b"\n")
    return found


@given(PIECES, st.integers(3, 20), st.integers(0, 30))
@settings(deadline=None)
def test_the_blocks_hold_every_line_in_order_but_those_too_long(pieces: list[bytes], size: int, more: int):
    content, longest = b"".join(pieces), size + more
    whole = content.removesuffix(b"\n").split(b"\n") if content else []
    wanted = [line if len(line) <= longest else None for line in whole]
    assert split(list(blocks(io.BytesIO(content), size, longest))) == wanted


@given(PIECES, st.integers(3, 20))
@settings(deadline=None)
def test_the_bytes_read_add_up_to_the_file(pieces: list[bytes], size: int):
    content = b"".join(pieces)
    assert sum(block.bytes_read for block in blocks(io.BytesIO(content), size, size + 5)) == len(content)


def test_a_line_too_long_is_named_by_its_number_and_its_beginning():
    found = list(blocks(io.BytesIO(b"one\n" + b"z" * 50 + b"\nthree\n"), 8, 16))
    assert [(block.first_line, block.overlong) for block in found if block.overlong] == [(2, "z" * 20)]


def test_a_line_too_long_is_a_reject():
    reject = overlong(Block(b"", 7, 100, "zzz")).row(0)
    assert reject == (7, "a line of 100 bytes, too long to be held", "zzz")


def test_a_byte_order_mark_is_no_part_of_the_first_line():
    (block,) = blocks(io.BytesIO(b"\xef\xbb\xbfone\n"))
    assert (block.text, block.bytes_read) == (b"one\n", 7)


def test_lines_are_numbered_on_from_the_blocks_first_and_lose_crlf():
    frame = lines(Block(b"a\r\n\nb", 41, 5))
    assert frame.rows() == [(41, "a"), (42, ""), (43, "b")]


def test_invalid_utf8_is_replaced():
    assert lines(Block(b"caf\xe9 \xff\n", 1, 7)).rows() == [(1, "caf� �")]


def test_nul_bytes_left_by_copytruncate_are_dropped():
    assert lines(Block(b"\0\0\0one\n", 1, 7)).rows() == [(1, "one")]


def test_a_text_that_begins_like_a_zlib_stream_is_still_text():
    assert lines(Block(b"x^2 is a square\n", 1, 16)).rows() == [(1, "x^2 is a square")]
