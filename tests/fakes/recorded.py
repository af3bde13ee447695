"""The recorded /metrics of tests/golden/diagnose, as readings (`e2e.record_diagnosis` makes them)."""

from __future__ import annotations

from pathlib import Path

from loadgen.server_metrics import ServerSample, read_metrics

GOLDEN = Path(__file__).parents[1] / "golden" / "diagnose"
_AT = "# at "


def recorded(name: str, folder: Path = GOLDEN) -> list[ServerSample]:
    """The readings of a case. Between the first and the last only a few series were kept: the rest stay."""
    samples: list[ServerSample] = []
    for page in (folder / f"{name}.txt").read_text(encoding="utf-8").split(_AT)[1:]:
        at_s, _, text = page.partition("\n")
        series, cache_config = read_metrics(text)
        before = samples[-1].series if samples else {}
        at_ns = round(float(at_s) * 1e9)
        samples.append(ServerSample(at_ns, "http://engine/metrics", {**before, **series}, cache_config))
    return samples
