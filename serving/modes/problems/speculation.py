"""What does not go with speculative decoding: other modes, versions, devices, and drafts that do not fit.

Owns: these rows. Knows nothing about how a draft's config was found.
"""

from __future__ import annotations

from collections.abc import Iterator

from serving.modes.lora import Lora
from serving.modes.parallel import Parallel
from serving.modes.problems.parallel import divides
from serving.modes.problems.row import Asked, Hit, Row, before
from serving.modes.speculative import Speculative

_GPU_ONLY = ("ngram_gpu", "eagle", "eagle3", "mtp", "medusa")


def _lora(asked: Asked) -> Iterator[Hit]:
    drafts, lora = asked.find(Speculative), asked.find(Lora)
    if drafts and lora:
        what = f"LoRA adapters with speculation by {drafts[1].method}"
        yield Hit(what=what, fix="keep one of the two", mode=lora[0])


def _medusa(asked: Asked) -> Iterator[Hit]:
    drafts = asked.find(Speculative)
    if drafts and drafts[1].method == "medusa" and not before(asked.context.version, "0.33"):
        what = f"medusa is not in vLLM {asked.context.version}"
        yield Hit(
            what=what, fix="use method: eagle3, or engine.version: 0.32.0", mode=drafts[0], key="method"
        )


def _suffix(asked: Asked) -> Iterator[Hit]:
    drafts = asked.find(Speculative)
    if drafts and drafts[1].method == "suffix":
        what = (
            "method suffix needs the package arctic-inference==0.1.1, which engine environments do not have"
        )
        yield Hit(what=what, fix="use method: ngram, which needs nothing", mode=drafts[0], key="method")


def _on_cpu(asked: Asked) -> Iterator[Hit]:
    drafts = asked.find(Speculative)
    if drafts and drafts[1].method in _GPU_ONLY and asked.context.device == "cpu":
        what = f"speculation by {drafts[1].method} has not been seen to work on CPU"
        yield Hit(what=what, fix="use method: ngram or draft_model", mode=drafts[0], key="method")


def _vocabulary(asked: Asked) -> Iterator[Hit]:
    drafts, model, draft = asked.find(Speculative), asked.context.model, asked.context.draft
    if not drafts or not model or not draft or drafts[1].method != "draft_model":
        return
    if draft.vocab_size != model.vocab_size:
        what = f"{draft.name} has {draft.vocab_size:,} tokens, {model.name} has {model.vocab_size:,}"
        fix = "take a draft of the same family, with the same tokenizer"
        yield Hit(what=what, fix=fix, mode=drafts[0], key="model")


def _draft_tensor(asked: Asked) -> Iterator[Hit]:
    drafts, parallel = asked.find(Speculative), asked.find(Parallel)
    if drafts and drafts[1].draft_tensor:
        tensor = parallel[1].tensor if parallel else 1
        if drafts[1].draft_tensor not in (1, tensor):
            what = f"draft_tensor {drafts[1].draft_tensor} is neither 1 nor the model's {tensor}"
            yield Hit(what=what, fix=f"set it to 1 or {tensor}", mode=drafts[0], key="draft_tensor")


def _draft_heads(asked: Asked) -> Iterator[Hit]:
    drafts, parallel, draft = asked.find(Speculative), asked.find(Parallel), asked.context.draft
    if drafts and draft and parallel:
        tensor = drafts[1].draft_tensor or parallel[1].tensor
        if not divides(draft, tensor):
            heads = draft.attention_heads
            named = f"{heads} attention heads" if heads % tensor else f"{draft.kv_heads} KV heads"
            what = f"the draft's {named} cannot be shared by {tensor} ranks"
            yield Hit(what=what, fix="set draft_tensor: 1", mode=drafts[0], key="draft_tensor")


def _draft_length(asked: Asked) -> Iterator[Hit]:
    drafts, draft, longest = asked.find(Speculative), asked.context.draft, asked.context.max_model_len
    if not drafts:
        return
    asked_for = drafts[1].draft_max_model_len
    limits = [(f"{draft.name}'s", draft.max_position)] if draft else []
    limits += [("engine.max_model_len's", longest)] if longest else []
    for whose, most in limits:
        if asked_for and asked_for > most:
            what = f"draft_max_model_len {asked_for} is longer than {whose} {most}"
            yield Hit(what=what, fix=f"set it to {most} or less", mode=drafts[0], key="draft_max_model_len")


def _draft_shorter(asked: Asked) -> Iterator[Hit]:
    drafts, draft, longest = asked.find(Speculative), asked.context.draft, asked.context.max_model_len
    if drafts and draft and longest and drafts[1].method == "draft_model" and draft.max_position < longest:
        what = f"{draft.name} ends at {draft.max_position} tokens and engine.max_model_len is {longest}"
        fix = f"expect no drafts beyond, or set engine.max_model_len: {draft.max_position}"
        yield Hit(what=what, fix=fix, mode=drafts[0], key="model")


def _draft_as_large(asked: Asked) -> Iterator[Hit]:
    drafts, model, draft = asked.find(Speculative), asked.context.model, asked.context.draft
    if drafts and model and draft and drafts[1].method == "draft_model":
        width = draft.attention_heads * draft.head_dim
        if draft.layers * width * width >= model.layers * (model.attention_heads * model.head_dim) ** 2:
            what = f"the draft {draft.name} is as large as {model.name}, so drafting costs more than it saves"
            fix = "take a draft of a tenth of the model's size, or method: ngram"
            yield Hit(what=what, fix=fix, mode=drafts[0], key="model")


ROWS = (
    Row(
        "lora_with_speculation",
        "LoRA adapters with speculative decoding",
        "error",
        "the drafter does not use the adapter; vLLM does not list the two as going together",
        "read: vLLM 0.33.0 v1/worker/gpu/spec_decode/eagle/utils.py; its documentation's table of features",
        _lora,
    ),
    Row(
        "medusa_is_gone",
        "speculation by medusa from vLLM 0.33 on",
        "error",
        "0.32 lists it, 0.33 does not",
        "read: config/speculative.py of both",
        _medusa,
    ),
    Row(
        "suffix_needs_package",
        "speculation by suffixes",
        "error",
        "vLLM: Arctic Inference is required for suffix decoding",
        "measured: vLLM 0.32.0; config/speculative.py",
        _suffix,
    ),
    Row(
        "speculation_not_seen_on_cpu",
        "speculation by a GPU's method on CPU",
        "warning",
        "only ngram and draft_model were run there",
        "vLLM 0.32.0 v1/worker/cpu_model_runner.py; not measured",
        _on_cpu,
    ),
    Row(
        "draft_vocabulary_differs",
        "a draft model with another vocabulary",
        "error",
        "a drafted token is a number, and must mean the same to both",
        "read: vLLM 0.32.0 config/speculative.py",
        _vocabulary,
    ),
    Row(
        "draft_tensor_differs",
        "tensor-parallel ranks of the draft",
        "error",
        "vLLM: it cannot be other than 1 or the target's",
        "read: vLLM 0.32.0 config/speculative.py _verify_and_get_draft_tp",
        _draft_tensor,
    ),
    Row(
        "draft_heads_not_divisible",
        "a draft whose heads its ranks cannot share",
        "error",
        "the draft takes the model's ranks unless it is told 1",
        "read: vLLM 0.32.0 config/speculative.py",
        _draft_heads,
    ),
    Row(
        "draft_longer_than_it_can",
        "a draft's context longer than the draft or the model allows",
        "error",
        "vLLM refuses it",
        "read: vLLM 0.32.0 config/speculative.py _maybe_override_draft_max_model_len",
        _draft_length,
    ),
    Row(
        "draft_shorter_than_context",
        "a draft that ends before the model does",
        "warning",
        "requests longer than the draft's context are not speculated on",
        "read: vLLM 0.32.0 config/speculative.py _maybe_override_draft_max_model_len",
        _draft_shorter,
    ),
    Row(
        "draft_as_large_as_the_model",
        "a draft as large as the model",
        "warning",
        "it also halves the KV tokens",
        "measured: vLLM 0.32.0 on CPU, 46,592 KV tokens where 93,184 were without a draft",
        _draft_as_large,
    ),
)
