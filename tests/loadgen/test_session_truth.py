"""What is measured against what was really sent: the scripted engine notes the moment of every write,
on the clock that all processes of a machine share. No expected value comes from the code under test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path
from statistics import median

import pytest
from fakes.engine_app import Exchange
from fakes.scripted_engine import ScriptedEngine
from fakes.scripts import Events, Script

from loadgen.records import Planned, RequestRecord
from loadgen.run_folder import Manifest, RunFolder
from loadgen.sender import Sender
from loadgen.stats.definitions import tpot_s, ttft_s

STREAMS = 20
TOKENS = 48
TRIES = 3
"""A busy machine can only make client and server disagree, never agree: one good try is proof."""
OUTPUT = ("content", "reasoning", "tool_call")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def scripts() -> tuple[Script, ...]:
    """Role at once, two tokens of reasoning, then content in chunks of one to three tokens; usage late."""
    made = []
    for number, per_chunk in enumerate((1, 2, 3)):
        events = Events()
        first_s, gap_s = 0.3 + 0.05 * number, 0.02 + 0.005 * number
        steps = [events.role(0.0), events.reasoning(first_s, "hm", tokens=2, usage=(10, 2))]
        told, at_s = 2, first_s
        while told < TOKENS:
            tokens = min(per_chunk, TOKENS - told)
            told, at_s = told + tokens, at_s + gap_s
            steps.append(events.content(at_s, " w" * tokens, tokens=tokens, usage=(10, told)))
        steps += [events.finish(at_s), events.usage(at_s + 0.1, 10, TOKENS), events.done(at_s + 0.1)]
        made.append(Script(f"script-{number}", tuple(steps)))
    return tuple(made)


def folder_of(engine: ScriptedEngine, path: Path) -> RunFolder:
    arrival = {"process": "constant", "rate": 100.0, "duration": None, "requests": STREAMS}
    manifest = Manifest(
        name="truth",
        started="",
        workload={"arrival": arrival},
        fingerprint="",
        seed=1,
        salt="truth",
        target=engine.url,
        model="",
        metrics_urls=(),
        exact_prompts=True,
        continuous_usage=True,
        clock={"perf_counter_ns": 0, "unix_ns": 0},  # so that stamps stay those of the shared clock
        versions={},
        machine={},
    )
    folder = RunFolder(path)
    folder.create()
    planned = [
        Planned(
            index=index,
            phase="measure",
            t_intended_ns=index * 10_000_000,
            kind="any",
            path="/v1/chat/completions",
            body={"model": f"script-{index % 3}", "messages": [], "stream": True},
        )
        for index in range(STREAMS)
    ]
    folder.prepare(manifest, planned)
    return folder


@dataclass(frozen=True)
class Pair:
    """A record and the exchange it is of."""

    record: RequestRecord
    exchange: Exchange

    def output(self) -> Sequence[tuple[int, int]]:
        """When each output event was written, and its tokens, as the engine noted it."""
        return [(sent.t_ns, sent.tokens) for sent in self.exchange.sent if sent.kind in OUTPUT]


@pytest.fixture(scope="module")
def tries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[list[Pair]]]:
    """Up to three runs of the same twenty concurrent streams; later ones only where the first is noisy."""
    with ScriptedEngine.start() as engine, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        runs: list[list[Pair]] = []
        for _ in range(TRIES):
            engine.reset()
            engine.define(*scripts())
            folder = folder_of(engine, tmp_path_factory.mktemp("truth"))
            assert Sender(folder, api_key=None).wait(stopped=lambda: False, progress=lambda _: None)
            by_id = {seen.headers["x-request-id"]: seen for seen in engine.exchanges(expect=STREAMS)}
            runs.append([Pair(record, by_id[f"truth-{record.index}"]) for record in folder.records()])
            if all(
                within(errors(runs[-1])) for errors in (stamp_errors, ttft_errors, tpot_errors, gap_errors)
            ):
                break
        yield runs


def stamp_errors(pairs: Sequence[Pair]) -> list[float]:
    """Read minus write, in seconds, for every output event."""
    return [
        (seen - wrote) / 1e9
        for pair in pairs
        for seen, (wrote, _) in zip(pair.record.output_ns, pair.output(), strict=True)
    ]


def ttft_errors(pairs: Sequence[Pair]) -> list[float]:
    """The truth is from the request's arrival at the engine to its first output: the role does not count."""
    return [abs((ttft_s(p.record) or 0) - (p.output()[0][0] - p.exchange.t_received_ns) / 1e9) for p in pairs]


def tpot_errors(pairs: Sequence[Pair]) -> list[float]:
    """The truth is the time from first to last output over the tokens after the first event's two."""
    errors = []
    for pair in pairs:
        sent = [stamp for stamp, _ in pair.output()]
        errors.append(abs((tpot_s(pair.record) or 0) - (sent[-1] - sent[0]) / 1e9 / (TOKENS - 2)))
    return errors


def gap_errors(pairs: Sequence[Pair]) -> list[float]:
    """The difference of every gap between output events."""
    errors = []
    for pair in pairs:
        sent = [stamp for stamp, _ in pair.output()]
        between = zip(pairwise(pair.record.output_ns), pairwise(sent), strict=True)
        errors += [
            abs((seen - before) - (wrote - earlier)) / 1e9 for (before, seen), (earlier, wrote) in between
        ]
    return errors


def within(errors: Sequence[float]) -> bool:
    """Within 2 ms at the median and 5 ms at p95."""
    return median(errors) < 0.002 and sorted(errors)[ceil(0.95 * len(errors)) - 1] < 0.005


def test_every_stream_was_there_at_once_and_came_whole(tries: list[list[Pair]]) -> None:
    for pairs in tries:
        assert len(pairs) == STREAMS
        assert {pair.record.outcome for pair in pairs} == {"ok"}
        assert max(p.exchange.t_received_ns for p in pairs) < min(p.exchange.t_end_ns or 0 for p in pairs)


def test_every_event_is_counted_in_its_class_and_every_token_in_its_event(tries: list[list[Pair]]) -> None:
    for pair in tries[0]:
        tokens = tuple(count for _, count in pair.output())
        assert pair.record.output_tokens_by_event == tokens
        assert pair.record.output_tokens == TOKENS == sum(tokens)
        counts = {"role": 1, "reasoning": 1, "content": len(tokens) - 1, "finish": 1, "usage": 1, "done": 1}
        assert pair.record.events == counts


def test_no_stamp_is_earlier_than_the_write_it_stamps(tries: list[list[Pair]]) -> None:
    for pairs in tries:
        for pair in pairs:
            sent = [stamp for stamp, _ in pair.output()]
            assert all(seen > wrote for seen, wrote in zip(pair.record.output_ns, sent, strict=True))


def test_stamps_agree_with_the_writes(tries: list[list[Pair]]) -> None:
    assert any(within(stamp_errors(pairs)) for pairs in tries)


def test_ttft_agrees_with_the_script(tries: list[list[Pair]]) -> None:
    assert any(within(ttft_errors(pairs)) for pairs in tries)


def test_tpot_agrees_with_the_script(tries: list[list[Pair]]) -> None:
    assert any(within(tpot_errors(pairs)) for pairs in tries)


def test_gaps_agree_with_the_script(tries: list[list[Pair]]) -> None:
    assert any(within(gap_errors(pairs)) for pairs in tries)
