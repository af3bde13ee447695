"""The tables that ship with the package."""

from __future__ import annotations

from serving.facts import load


def test_every_row_names_its_source() -> None:
    sources = [row.source for row in load.kv_formats().values()]
    sources += [row.source for row in load.engine_metrics().values()]
    sources += [row.source for row in load.engine_messages()]
    assert all(sources)


def test_the_embedded_model_is_known_by_what_its_gguf_file_says() -> None:
    # Read from the metadata of SmolLM2-135M-Instruct.Q4_1.gguf: llama.block_count and so on.
    config = load.model_configs()["smollm2-135m"]
    shape = {
        "num_hidden_layers": 30,
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "head_dim": 64,
        "vocab_size": 49152,
        "max_position_embeddings": 8192,
    }
    assert {key: config[key] for key in shape} == shape


def test_no_metric_is_named_twice() -> None:
    tables = (load.engine_metrics(), load.own_metrics(), load.load_metrics())
    names = [metric.name for table in tables for metric in table.values()]
    assert len(names) == len(set(names))


def test_bucket_bounds_rise() -> None:
    for bounds in load.histogram_buckets().values():
        assert list(bounds) == sorted(set(bounds))


def test_message_ids_are_unique() -> None:
    ids = [message.id for message in load.engine_messages()]
    assert len(ids) == len(set(ids))
