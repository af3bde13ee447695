"""A diagnosis as text: what was seen, what binds, which lever comes next, and the others.

Owns: the words and their layout. Knows nothing about how a diagnosis is made (`diagnosis`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from deploy.diagnose.advice import Ranked
from deploy.diagnose.bars import bar
from deploy.diagnose.diagnosis import Diagnosis
from deploy.diagnose.edit import diff, spell
from deploy.diagnose.evidence import Evidence
from deploy.diagnose.predict import NAMES, Gain
from deploy.diagnose.rules import seconds

WIDTH = 110


def text(diagnoses: Sequence[Diagnosis]) -> str:
    """For people."""
    return "\n\n".join("\n".join(_lines(each)) for each in diagnoses)


def gain_words(gain: Gain) -> str:
    """A ratio with its bounds."""
    bounds = f"{gain.low:.2f}x" if gain.high - gain.low < 0.005 else f"{gain.low:.2f}x to {gain.high:.2f}x"
    return f"{NAMES[gain.measure]} {bounds}"


def _lines(each: Diagnosis) -> Iterator[str]:
    evidence = each.evidence
    count = "no" if evidence.requests is None else f"{evidence.requests:.0f}"
    inside = f", {evidence.running_mean:.1f} in it at once" if evidence.running_mean else ""
    yield f"{evidence.source}: {count} requests finished within {evidence.seconds:.0f} s{inside}"
    if each.refused:
        yield f"  no diagnosis: {each.refused}"
        return
    yield from _seen(evidence)
    if each.bound is None:
        yield "  no rule saw anything that binds"
    else:
        yield from _bound(each)
    yield from (f"  {line}" for line in each.notes)
    if each.silent:
        rules = [f"{rule.id} needs {', '.join(rule.inputs)}" for rule in each.silent]
        yield from _folded("could not tell, for want of what was not seen: " + "; ".join(rules))


def _under(words: str) -> Iterator[str]:
    yield from textwrap.wrap(words, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 8)


def _folded(words: str) -> Iterator[str]:
    yield from textwrap.wrap(words, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _seen(e: Evidence) -> Iterator[str]:
    for name, value, share in zip(
        ("queue", "prefill", "decode"),
        (e.queue_s, e.prefill_s, e.decode_s),
        e.shares or (None, None, None),
        strict=True,
    ):
        if value is not None and share is not None:
            yield f"  {name:9} {bar(share)} {share:>4.0%}  {seconds(value)} a request"
    if e.running_max is not None and e.max_num_seqs:
        waiting = f", {e.waiting_mean:.1f} waiting" if e.waiting_mean else ""
        taken = e.running_max / e.max_num_seqs
        most = f"{e.running_max:.0f} of {e.max_num_seqs} at most"
        yield f"  {'seats':9} {bar(taken)} {taken:>4.0%}  {most}{waiting}"
    if e.kv_usage_max_ratio is not None:
        lost = f", {e.preemptions:.0f} preemptions" if e.preemptions else ""
        yield f"  {'KV cache':9} {bar(e.kv_usage_max_ratio)} {e.kv_usage_max_ratio:>4.0%}  at most{lost}"
    if e.device is not None:
        rates = ((e.bandwidth_ratio, "bandwidth"), (e.flops_ratio, "flops"))
        of = f"of {e.device.source}{' (assumed rates)' if e.device.assumed else ''}"
        yield from (
            f"  {name:9} {bar(ratio)} {ratio:>4.0%}  {of}" for ratio, name in rates if ratio is not None
        )
    latencies = [("TTFT", e.ttft_s, e.ttft_slo_s), ("TPOT", e.tpot_s, e.tpot_slo_s)]
    said = [
        f"{name} {seconds(value)}" + (f" (objective {seconds(slo)})" if slo is not None else "")
        for name, value, slo in latencies
        if value is not None
    ]
    if said:
        yield f"  means: {', '.join(said)}"


def _bound(each: Diagnosis) -> Iterator[str]:
    first, *others = each.findings
    yield f"  bound by: {first.bound} ({first.symptom})"
    yield from _folded(f"  {first.evidence}  [{first.rule}]")
    for found in others:
        yield from _folded(f"seen beside it: {found.evidence}  [{found.rule}]")
    if each.levers and each.next is None:
        yield "  no lever on it is ready:"
    for number, lever in enumerate(each.levers, 1):
        yield from _lever(number, lever, each)
    if each.elsewhere:
        titles = "; ".join(lever.title for lever, _ in each.elsewhere)
        yield from _folded(f"not these, for they act on what does not bind: {titles}")


def _lever(number: int, each: Ranked, whole: Diagnosis) -> Iterator[str]:
    first = each.why_not_first is None
    yield f"  {'next' if first else f'{number}.'}{':' if first else ''} {each.lever.title}"
    if each.why_not_first:
        yield from _under(f"not {'now' if whole.next is None else 'first'}: {each.why_not_first}")
    for gain in each.gains:
        yield from _under(f"predicted: {gain_words(gain)} ({gain.how})")
    for words in whole.tried.get(each.lever.id, ()):
        yield from _under(f"measured here: {words}")
    if not each.gains and first:
        yield "      no prediction: --verify measures it"
    yield f"      risk: {each.lever.risk}"
    if each.fragment is None and whole.file is None:
        yield "      the change needs the deployment file: teapot diagnose FILE"
    elif each.fragment is None:
        return
    elif first and whole.file is not None:
        lines = diff(whole.file.text, whole.file.name, each.fragment).splitlines()
        yield from (f"      {line}" for line in lines)
    else:
        yield from (f"      {line}" for line in spell(each.fragment).splitlines())
