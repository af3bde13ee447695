"""What a model is made of."""

from __future__ import annotations

from serving.planner.shape import AttentionKv, LatentKv, Layer, ModelShape, StateKv, Tensor


def _model(*layers: Layer, experts: int = 0) -> ModelShape:
    embedding = Tensor("embed_tokens", "embedding", 100, 10)
    return ModelShape(
        name="m", architecture="A", family="f", hidden=10, vocab=100, max_position=1, attention_heads=1,
        element_bytes=2, layers=layers, around=(embedding,), tied=True, experts=experts,
    )  # fmt: skip


def test_parameters_are_summed_and_experts_counted_as_used() -> None:
    tensors = (Tensor("a", "linear", 3, 4), Tensor("experts.up", "expert", 2, 5, copies=8, used=2))
    model = _model(Layer(tensors), experts=8)
    assert model.parameters == 1000 + 12 + 80
    assert model.active_parameters == 1000 + 12 + 20
    assert model.embedding_parameters == 1000


def test_the_kind_is_told_in_words() -> None:
    assert _model(Layer((), AttentionKv(1, 64))).kind == "dense"
    assert _model(Layer((), AttentionKv(1, 64)), Layer((), StateKv(1, 1, 4))).kind == "dense hybrid"
    assert _model(Layer((), LatentKv(512, 64)), experts=8).kind == "moe mla"
