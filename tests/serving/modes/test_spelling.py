"""Suggestions."""

from __future__ import annotations

from serving.modes.spelling import suggest


def test_a_close_word_is_suggested() -> None:
    assert suggest("formt", ["kind", "format"], "keys") == "did you mean 'format'?"


def test_all_words_are_listed_where_none_is_close() -> None:
    assert suggest("zzz", ["kind", "format"], "keys") == "keys: kind, format"
