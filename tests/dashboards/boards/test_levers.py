"""What engines say of their own configuration."""

from __future__ import annotations

from fakes.exposed import CAPTURE

from dashboards.boards.levers import CONFIG_COLUMNS, config_query


def test_every_column_is_a_label_that_the_query_keeps_and_that_an_engine_or_its_target_has() -> None:
    query = config_query(('revision=~"$revision"',))
    page = CAPTURE.read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("vllm:cache_config_info{"))
    for column in CONFIG_COLUMNS:
        assert column.label in query.expr
        assert column.label in {"revision", "role", "instance"} or f'{column.label}="' in line
