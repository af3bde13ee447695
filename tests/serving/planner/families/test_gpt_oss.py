"""gpt-oss against the golden record and the parameter count of the published checkpoint."""

from __future__ import annotations

from fakes.planning import config, record

from serving.planner.model import model_shape

NAME = "openai/gpt-oss-20b"


def test_it_has_as_many_parameters_as_published() -> None:
    assert model_shape(config(NAME), NAME).parameters == 20_914_757_184


def test_every_other_layer_has_a_window_from_the_first() -> None:
    windows = [layer.kv.window for layer in model_shape(config(NAME), NAME).layers]
    assert windows == [128, None] * 12
    assert windows.count(128) == record(NAME)["layers_sliding"]
