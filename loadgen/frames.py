"""A finished exchange as bytes, between the process that stamps and the one that reads.

Owns: the form of a frame. Knows nothing about files or processes. A frame is a head of three lengths,
the facts as JSON, the stamps, the lengths of the reads, and the raw bytes as they came.
"""

from __future__ import annotations

import json
import struct
from array import array
from dataclasses import dataclass
from itertools import pairwise

from loadgen.parse import Capture
from loadgen.records import Planned

_HEAD = struct.Struct("<IIQ")
_FACTS = ("index", "phase", "t_intended_ns", "kind", "path", "stage")
_SEEN = ("t_sent_ns", "t_end_ns", "closed", "cut", "error")


@dataclass(frozen=True, slots=True)
class Frame:
    """A capture, what of its plan the record needs, and the raw stamp of the measured phase's start."""

    planned: Planned
    capture: Capture
    measure_start_ns: int


def pack(frame: Frame) -> bytes:
    """The frame as bytes."""
    planned, capture = frame.planned, frame.capture
    facts = {name: getattr(planned, name) for name in _FACTS}
    seen = {name: getattr(capture, name) for name in _SEEN}
    told = json.dumps([facts, seen, frame.measure_start_ns]).encode()
    lengths = array("I", map(len, capture.parts))
    head = _HEAD.pack(len(told), len(lengths), sum(lengths))
    stamps = array("q", capture.stamps)
    return b"".join((head, told, stamps.tobytes(), lengths.tobytes(), *capture.parts))


def unpack(data: bytes, start: int = 0) -> tuple[Frame, int] | None:
    """The frame that begins at `start`, and where it ends; None if it is not whole yet."""
    if len(data) < start + _HEAD.size:
        return None
    told_bytes, reads, raw_bytes = _HEAD.unpack_from(data, start)
    told_at = start + _HEAD.size
    stamps_at = told_at + told_bytes
    lengths_at = stamps_at + 8 * reads
    raw_at = lengths_at + 4 * reads
    end = raw_at + raw_bytes
    if len(data) < end:
        return None
    facts, seen, measure_start_ns = json.loads(data[told_at:stamps_at])
    stamps, lengths = array("q", data[stamps_at:lengths_at]), array("I", data[lengths_at:raw_at])
    edges = [raw_at]
    for length in lengths:
        edges.append(edges[-1] + length)
    parts = [data[a:b] for a, b in pairwise(edges)]
    capture = Capture(**seen, parts=parts, stamps=stamps.tolist())
    return Frame(Planned(**facts, body={}), capture, measure_start_ns), end
