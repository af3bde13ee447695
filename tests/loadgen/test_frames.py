from __future__ import annotations

from loadgen.frames import Frame, pack, unpack
from loadgen.parse import Capture
from loadgen.records import Planned


def frame(index: int = 3, error: str | None = None) -> Frame:
    planned = Planned(index, "measure", 17, "code", "/v1/completions", {}, conversation=None)
    capture = Capture(5, 99, [b"ab", b"", b"cde"], [6, 2**60, 8], closed=True, error=error)
    return Frame(planned, capture, 1234)


def test_a_frame_survives_its_bytes() -> None:
    for one in (frame(), frame(error="Übel")):
        data = pack(one)
        assert unpack(data) == (one, len(data))


def test_frames_follow_each_other() -> None:
    data = pack(frame(1)) + pack(frame(2))
    first = unpack(data)
    assert first is not None
    second = unpack(data, first[1])
    assert second is not None
    assert [first[0].planned.index, second[0].planned.index] == [1, 2]
    assert second[1] == len(data)


def test_a_frame_that_is_not_whole_is_none_at_every_length() -> None:
    data = pack(frame())
    assert all(unpack(data[:length]) is None for length in range(len(data)))


def test_an_exchange_without_any_read_is_a_frame_too() -> None:
    one = Frame(Planned(0, "warmup", None, "a", "/", {}), Capture(1, 2, error="refused"), 0)
    assert unpack(pack(one)) == (one, len(pack(one)))
