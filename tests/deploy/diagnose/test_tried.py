"""What was measured before is kept, a line a measure, and told again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deploy.diagnose.tried import FILE, Trial, Tried
from serving.errors import Failed, UsageError

TRIAL = Trial(
    at="2026-11-29T22:00:00Z", lever="kv-dtype", model="smollm2-135m", fragment={}, measure="kv_tokens",
    predicted_low=2.0, predicted_high=2.0, measured=2.0, measured_low=2.0, measured_high=2.0, repeats=3,
    study="runs/one",
)  # fmt: skip


def test_what_is_written_is_read_again_and_more_comes_behind(tmp_path: Path) -> None:
    tried = Tried(tmp_path / "state")
    assert tried.read() == ()
    tried.add([TRIAL])
    path = tried.add([replace(TRIAL, measure="tpot_s")])
    assert path == tmp_path / "state" / FILE
    assert tried.read() == (TRIAL, replace(TRIAL, measure="tpot_s"))


def test_a_line_that_was_cut_is_told_and_swallows_no_other(tmp_path: Path) -> None:
    tried = Tried(tmp_path)
    path = tried.add([TRIAL])
    whole = path.read_text()
    path.write_text(whole + whole[:20])
    tried.add([TRIAL])
    with pytest.raises(UsageError, match=f"{path}:2: is no trial of a lever; take the line out"):
        tried.read()
    path.write_text("".join(path.read_text().splitlines(keepends=True)[::2]))
    assert tried.read() == (TRIAL, TRIAL)


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=f"{FILE}: cannot be read: .*; move it away"):
        Tried(tmp_path).read()


@pytest.mark.parametrize(
    ("predicted", "measured", "held"),
    [
        ((1.2, 1.6), (1.5, 1.4, 1.7), True),
        ((1.2, 1.6), (1.8, 1.7, 1.9), False),
        ((1.2, 1.6), (1.3, None, None), None),
        ((1.2, 1.6), (1.3, 0.2, 9.0), None),
        ((1.2, 1.6), (0.4, 0.2, 0.9), False),
        ((None, None), (1.1, 1.0, 1.2), None),
    ],
)
def test_a_prediction_held_where_a_narrow_interval_overlaps(
    predicted: tuple[float | None, float | None],
    measured: tuple[float, float | None, float | None],
    held: bool | None,
) -> None:
    trial = replace(
        TRIAL, predicted_low=predicted[0], predicted_high=predicted[1], measured=measured[0],
        measured_low=measured[1], measured_high=measured[2],
    )  # fmt: skip
    assert trial.held is held


def test_the_words_are_those_of_the_last_verification_of_this_model(tmp_path: Path) -> None:
    tried = Tried(tmp_path)
    later = replace(
        TRIAL, at="2026-11-30T01:00:00Z", study="runs/two", measured=1.9, measured_low=1.8, measured_high=1.95
    )
    tried.add([TRIAL, later, replace(later, measure="tpot_s", predicted_low=None, predicted_high=None)])
    tried.add([replace(later, model="another")])
    assert tried.words("smollm2-135m") == {
        "kv-dtype": (
            "KV tokens 1.90x [1.80, 1.95]; predicted 2.00x to 2.00x, which was wrong (2026-11-30)",
            "TPOT 1.90x [1.80, 1.95]; nothing was predicted (2026-11-30)",
        )
    }
    assert tried.words("unknown") == {}


@pytest.mark.parametrize(
    ("measured", "lost"),
    [
        ({"output_tokens_per_s": (0.9, 0.95)}, True),
        ({"output_tokens_per_s": (1.1, 1.3), "tpot_s": (0.6, 0.7)}, False),
        ({"output_tokens_per_s": (0.9, 1.1), "tpot_s": (0.6, 0.7)}, True),
        ({"output_tokens_per_s": (None, None)}, False),
        ({"kv_tokens": (0.5, 0.5)}, False),
    ],
)
def test_a_lever_lost_where_no_speed_is_better_and_one_is_worse(
    tmp_path: Path, measured: dict[str, tuple[float | None, float | None]], lost: bool
) -> None:
    tried = Tried(tmp_path)
    tried.add(
        replace(TRIAL, measure=name, measured_low=low, measured_high=high)
        for name, (low, high) in measured.items()
    )
    assert ("kv-dtype" in tried.lost("smollm2-135m")) is lost


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{}\n")
    with pytest.raises(UsageError, match="is no trial of a lever") as caught:
        Tried(tmp_path).read()
    assert f"{FILE}:1" in str(caught.value)


def test_a_disk_that_says_no_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(Failed, match="cannot be written"):
        Tried(tmp_path).add([TRIAL])
