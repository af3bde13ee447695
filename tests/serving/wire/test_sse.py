"""serving.wire.sse against streams written by hand."""

from __future__ import annotations

import random

import pytest

from serving.wire.sse import SseDecoder, SseEvent, decode

# The same three events with each kind of line end the standard knows; offsets counted by hand.
LF = b"data: a\n\nevent: e\nid: 7\ndata: b\ndata:c\n\ndata\n\n"
LF_EVENTS = [
    SseEvent(b"a", 9),
    SseEvent(b"b\nc", 40, "e", "7"),
    SseEvent(b"", 46, None, "7"),
]
CRLF_EVENTS = [
    SseEvent(b"a", 11),
    SseEvent(b"b\nc", 47, "e", "7"),
    SseEvent(b"", 55, None, "7"),
]
MIXED = (
    b"\xef\xbb\xbf: hello\r\n\r\n"
    b"data: \xe4\xb8\x96\xe7\x95\x8c\r\rdata: x\n\n\r\n"
    b"event: nothing\n\nretry: 10\nunknown: 1\ndata:  two spaces\r\n\n"
)
MIXED_EVENTS = [
    SseEvent(b"hello", 12, comment=True),
    SseEvent("世界".encode(), 28),
    SseEvent(b"x", 37),
    SseEvent(b" two spaces", 96),
]


def in_pieces(stream: bytes, cuts: list[int]) -> list[SseEvent]:
    decoder = SseDecoder()
    events: list[SseEvent] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        events += decoder.feed(stream[start:end])
    last = decoder.close()
    return events if last is None else [*events, last]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (LF, LF_EVENTS),
        (LF.replace(b"\n", b"\r\n"), CRLF_EVENTS),
        (LF.replace(b"\n", b"\r"), LF_EVENTS),
        (MIXED, MIXED_EVENTS),
    ],
    ids=["LF", "CRLF", "CR", "mixed"],
)
class TestEveryLineEnd:
    def test_gives_the_events_and_offsets_counted_by_hand(
        self, stream: bytes, expected: list[SseEvent]
    ) -> None:
        assert decode(stream) == expected

    def test_gives_the_same_events_byte_by_byte(self, stream: bytes, expected: list[SseEvent]) -> None:
        assert in_pieces(stream, list(range(1, len(stream)))) == expected

    def test_gives_the_same_events_however_it_is_split(self, stream: bytes, expected: list[SseEvent]) -> None:
        chance = random.Random(20_261_129)
        for _ in range(300):
            cuts = sorted(chance.randint(0, len(stream)) for _ in range(chance.randint(1, 6)))
            assert in_pieces(stream, cuts) == expected, cuts


def test_an_event_is_there_as_soon_as_its_blank_line_is() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\n") == []
    assert decoder.feed(b"\n") == [SseEvent(b"a", 9)]


def test_a_cr_at_the_end_of_a_read_waits_for_the_byte_that_tells_what_it_is() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r\n\r") == []
    assert decoder.feed(b"\ndata: b\r\r") == [SseEvent(b"a", 11)]
    assert decoder.close() == SseEvent(b"b", 20)


def test_a_multibyte_character_split_between_reads_is_whole_again() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: \xc3") == []
    assert decoder.feed(b"\xbc\n\n") == [SseEvent("ü".encode(), 10)]


def test_a_block_without_data_is_no_event_and_its_type_is_forgotten() -> None:
    assert decode(b"event: ping\n\ndata: a\n\n") == [SseEvent(b"a", 22)]


def test_an_id_stays_until_another_comes_and_one_with_a_null_is_ignored() -> None:
    stream = b"id: 1\ndata: a\n\ndata: b\n\nid: \0\ndata: c\n\nid\ndata: d\n\n"
    assert [(event.data, event.id) for event in decode(stream)] == [
        (b"a", "1"),
        (b"b", "1"),
        (b"c", "1"),
        (b"d", ""),
    ]


def test_a_comment_between_the_lines_of_an_event_does_not_break_it() -> None:
    assert decode(b"data: a\n: still here\ndata: b\n\n") == [
        SseEvent(b"still here", 21, comment=True),
        SseEvent(b"a\nb", 30),
    ]


def test_a_byte_order_mark_counts_only_at_the_very_start() -> None:
    assert decode(b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n") == [SseEvent(b"a", 12)]


def test_a_stream_that_breaks_off_inside_an_event_says_so() -> None:
    assert decode(b"data: a\n\ndata: b") == [SseEvent(b"a", 9), SseEvent(b"b", 16, truncated=True)]
    assert decode(b"data: a\n") == [SseEvent(b"a", 8, truncated=True)]
    assert decode(b"data: a\n: and") == [SseEvent(b"a", 13, truncated=True)]
    assert decode(b": half a com") == [SseEvent(b"half a com", 12, comment=True, truncated=True)]


def test_a_stream_that_ends_between_events_leaves_nothing_behind() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"") == []
    decoder.feed(b"data: a\n\n")
    assert decoder.close() is None
    assert decode(b"") == []
    assert decode(b"event: only\n") == []
