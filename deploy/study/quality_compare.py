"""Whether an engine's answers are as good as the control's, beside how much the control differs from itself.

Owns: the comparison of quality records and the judgement a gate asks for. Knows nothing about how they were
measured.

Documents are the unit of the intervals, since the tokens of one document depend on each other, and so do its
prompts, of which each begins the next. Only the share of exact matches has Wilson's interval, over prompts.
The bootstrap's percentiles are widened for few documents: Phi(-sqrt(n / (n - 1)) t(n - 1)) in place of 2.5 %
(Hesterberg, The American Statistician 69 (2015) 371-386).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from deploy.study.quality_record import Answer, DocumentScore, QualityRecord
from deploy.study.results import LEVEL
from deploy.study.statistics import TAIL, share
from loadgen.stats.intervals import student_t
from serving.errors import InvalidMeasurement

RESAMPLES = 2_000
FEWEST_GROUPS = 5
"""Documents below which an interval of theirs is not given."""
Outcome = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; None where n is too small for one. n counts `of`."""

    value: float
    low: float | None
    high: float | None
    n: int
    of: Literal["documents", "prompts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One record beside the control. The same for the control's second run is the self-control."""

    perplexity: Estimate
    perplexity_ratio: Estimate
    """Over the control's."""
    nll_difference: Estimate
    """Mean over tokens of what the record has more than the control, in nats: log of that ratio."""
    nll_distance: Estimate
    """Mean over tokens of the absolute difference, which does not cancel."""
    exact_match: Estimate | None
    """Share of greedy answers that are the control's token for token. None without prompts."""
    matched_prefix: Estimate | None
    """Mean share of the longer answer's tokens before the first that differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityVerdict:
    """What a lever did to quality. Read `arm` only beside `itself`, the control's second run."""

    arm: Against
    itself: Against
    control_perplexity: Estimate
    fewer_matches_p: float | None
    """Exact one-sided McNemar test that the arm's answers match no less often than the control's own second
    ones: small says that they do. None without prompts."""
    tokens: int
    window_chars: int
    answer_tokens: int

    def to_json(self) -> dict[str, Any]:
        """The verdict as a JSON document."""
        return {"kind": "quality-verdict", "level": LEVEL, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How much worse a gate lets a new revision be."""

    perplexity_ratio: float = 1.02
    matched_prefix: float = 0.25
    """At least so much. Answers of a lossy format part from the control's somewhere; those of other weights
    or of a broken engine part at once."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A gate's answer, with its reasons in words."""

    outcome: Outcome
    reasons: tuple[str, ...]


def compare(
    record: QualityRecord, control: QualityRecord, self_control: QualityRecord, *, seed: int = 1
) -> QualityVerdict:
    """Set a record and the control's second run beside the control.

    Raises: InvalidMeasurement where they were asked different things or split the text into different tokens.
    """
    for other in (record, self_control):
        _comparable(other, control)
    matched = _matches(record, control)
    again = _matches(self_control, control)
    return QualityVerdict(
        arm=_against(record, control, seed),
        itself=_against(self_control, control, seed),
        control_perplexity=_perplexity(control, seed),
        fewer_matches_p=mcnemar_fewer(matched, again) if matched else None,
        tokens=record.tokens,
        window_chars=record.window_chars,
        answer_tokens=record.answer_tokens,
    )


def judge(verdict: QualityVerdict, tolerance: Tolerance | None = None) -> Judgement:
    """Fail where the interval lies beyond what is tolerated, pass where it lies within, else inconclusive.

    A control that does not even resemble itself decides nothing.
    """
    allowed = tolerance or Tolerance()
    itself = _outcomes(verdict.itself, allowed)
    if any(outcome != "pass" for outcome, _ in itself):
        said = tuple(f"the control against itself: {why}" for outcome, why in itself if outcome != "pass")
        return Judgement("inconclusive", said)
    found = _outcomes(verdict.arm, allowed)
    for outcome in ("fail", "inconclusive"):
        reasons = tuple(why for each, why in found if each == outcome)
        if reasons:
            return Judgement("fail" if outcome == "fail" else "inconclusive", reasons)
    return Judgement("pass", tuple(why for _, why in found))


def _outcomes(against: Against, allowed: Tolerance) -> list[tuple[Outcome, str]]:
    ratio, limit = against.perplexity_ratio, allowed.perplexity_ratio
    told = f"perplexity ratio {in_words(ratio)}, tolerated {limit:g}"
    found: list[tuple[Outcome, str]] = [(_within(ratio.low, ratio.high, -math.inf, limit), told)]
    prefix, least = against.matched_prefix, allowed.matched_prefix
    if prefix is not None:
        told = f"matched prefix {in_words(prefix)}, wanted {least:g}"
        found.append((_within(prefix.low, prefix.high, least, math.inf), told))
    return found


def _within(low: float | None, high: float | None, least: float, most: float) -> Outcome:
    if low is None or high is None:
        return "inconclusive"
    if low > most or high < least:
        return "fail"
    return "pass" if low >= least and high <= most else "inconclusive"


def in_words(estimate: Estimate) -> str:
    """`1.004 [0.998, 1.011] (12 documents)`."""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.4g} without an interval ({estimate.n} {estimate.of})"
    return f"{estimate.value:.4g} [{estimate.low:.4g}, {estimate.high:.4g}] ({estimate.n} {estimate.of})"


def _comparable(record: QualityRecord, control: QualityRecord) -> None:
    fix = "measure both with the same version of teapot, the same text and models of one tokenizer"
    if _asked(record) != _asked(control):
        raise InvalidMeasurement("the quality records come from different texts or settings", fix=fix)
    for mine, theirs in zip(record.documents, control.documents, strict=True):
        if mine.tokens_sha256 != theirs.tokens_sha256 or len(mine.nll) != len(theirs.nll):
            raise InvalidMeasurement(
                f"document '{mine.document}' was split into different tokens, so perplexities say nothing",
                fix=fix,
            )


def _asked(record: QualityRecord) -> tuple[str, list[str], list[str]]:
    """The plan, and what is there of its documents and prompts: a record may have been cut."""
    documents = [row.document for row in record.documents]
    return record.plan_sha256, documents, [answer.prompt for answer in record.answers]


def _against(record: QualityRecord, control: QualityRecord, seed: int) -> Against:
    pairs = list(zip(record.documents, control.documents, strict=True))
    difference = _documents([(math.fsum(a.nll) - math.fsum(b.nll), len(a.nll)) for a, b in pairs], seed)
    distance = _documents([(_distance(a, b), len(a.nll)) for a, b in pairs], seed)
    matches = _matches(record, control)
    return Against(
        perplexity=_perplexity(record, seed),
        perplexity_ratio=_exp(difference),
        nll_difference=difference,
        nll_distance=distance,
        exact_match=_share(matches),
        matched_prefix=_prefix(record, control, seed),
    )


def _distance(a: DocumentScore, b: DocumentScore) -> float:
    return math.fsum(abs(mine - theirs) for mine, theirs in zip(a.nll, b.nll, strict=True))


def _perplexity(record: QualityRecord, seed: int) -> Estimate:
    return _exp(_documents([(math.fsum(row.nll), len(row.nll)) for row in record.documents], seed))


def _exp(estimate: Estimate) -> Estimate:
    low, high = (None if end is None else math.exp(end) for end in (estimate.low, estimate.high))
    return Estimate(math.exp(estimate.value), low, high, estimate.n, estimate.of)


def _documents(sums: Sequence[tuple[float, int]], seed: int) -> Estimate:
    """The mean over all tokens, from each document's sum and count."""
    interval = clustered_interval(sums, seed=seed)
    low, high = interval or (None, None)
    return Estimate(_ratio(sums), low, high, len(sums), "documents")


def _matches(record: QualityRecord, control: QualityRecord) -> list[bool]:
    return [a.tokens == b.tokens for a, b in zip(record.answers, control.answers, strict=True)]


def _share(matches: Sequence[bool]) -> Estimate | None:
    found = share(sum(matches), len(matches))
    return None if found is None else Estimate(found.value, found.low, found.high, found.n, "prompts")


def _prefix(record: QualityRecord, control: QualityRecord, seed: int) -> Estimate | None:
    fractions: dict[str, list[float]] = {}
    for mine, theirs in zip(record.answers, control.answers, strict=True):
        # A prompt's name begins with its document's, whose prompts are each other's beginnings.
        fractions.setdefault(mine.prompt.rsplit(":", 1)[0], []).append(matched_prefix(mine, theirs))
    if not fractions:
        return None
    sums = [(math.fsum(found), len(found)) for found in fractions.values()]
    low, high = clustered_interval(sums, seed=seed) or (None, None)
    return Estimate(_ratio(sums), low, high, len(record.answers), "prompts")


def matched_prefix(a: Answer, b: Answer) -> float:
    """The share of the longer answer's tokens before the first that differs; of two empty answers 1."""
    longer = max(len(a.tokens), len(b.tokens))
    same = next(
        (at for at, (mine, theirs) in enumerate(zip(a.tokens, b.tokens, strict=False)) if mine != theirs),
        min(len(a.tokens), len(b.tokens)),
    )
    return same / longer if longer else 1.0


def mcnemar_fewer(matched: Sequence[bool], again: Sequence[bool]) -> float:
    """P(at least so many of the prompts that changed have changed for the worse), were both ways as likely.

    Exact binomial form of McNemar's test (Psychometrika 12 (1947) 153-157), one-sided; 1 where none changed.
    """
    lost = sum(after and not before for before, after in zip(matched, again, strict=True))
    won = sum(before and not after for before, after in zip(matched, again, strict=True))
    changed = lost + won
    return float(sum(math.comb(changed, k) for k in range(lost, changed + 1)) / 2**changed)


def clustered_interval(
    sums: Sequence[tuple[float, int]],
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> tuple[float, float] | None:
    """The bootstrap interval of a ratio of sums, whole groups drawn; None for fewer than five groups."""
    n = len(sums)
    if n < FEWEST_GROUPS:
        return None
    rng = random.Random(seed)
    found = sorted(_ratio(rng.choices(sums, k=n)) for _ in range(resamples))
    tail = 0.5 * math.erfc(math.sqrt(n / (n - 1)) * student_t(n - 1, TAIL) / math.sqrt(2))
    cut = math.floor(tail * resamples)
    return found[cut], found[-1 - cut]


def _ratio(sums: Sequence[tuple[float, int]]) -> float:
    return math.fsum(total for total, _ in sums) / sum(count for _, count in sums)
