"""Reads the fields of a config.json with care: what is missing or absurd is an error with file and key.

Owns: the checks of one field and the list of what was taken for granted. Knows nothing about what fields
mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from serving.errors import UsageError

MOST = 1_000_000
"""No count in a config.json is larger, but for those below."""
MOST_TOKENS = 1_000_000_000
MOST_LAYERS = 10_000
MOST_HEADS = 10_000
MOST_OF: Mapping[str, int] = {
    "num_attention_heads": MOST_HEADS,
    "num_key_value_heads": MOST_HEADS,
    "vocab_size": 5_000_000,
    "max_position_embeddings": MOST_TOKENS,
    "model_max_length": MOST_TOKENS,
    "original_max_position_embeddings": MOST_TOKENS,
    "sliding_window": MOST_TOKENS,
    "attention_chunk_size": MOST_TOKENS,
}
"""Far above what any model has, by key."""


class Fields:
    """The fields of one model's config.json."""

    def __init__(self, config: Mapping[str, Any], where: str) -> None:
        """`where` names the file for errors."""
        text = config.get("text_config")
        if text is not None and not isinstance(text, Mapping):
            raise UsageError(
                f"is {text!r:.40}, not an object", where=f"{where}: text_config", fix="correct it"
            )
        self.outer = config
        self.inner: Mapping[str, Any] = text if isinstance(text, Mapping) else config
        self.where = where
        self.notes: list[str] = []

    def get(self, *keys: str) -> Any:
        """The first of these keys that has a value, in the text part first; None: none has."""
        for key in keys:
            for source in (self.inner, self.outer):
                if source.get(key) is not None:
                    return source[key]
        return None

    def count(self, *keys: str, default: int | None = None, least: int = 1) -> int:
        """A whole number from the first of `keys` that has one. Raises: UsageError with file and key."""
        value = self.get(*keys)
        if value is None:
            if default is None:
                raise self.error(keys[0], "is missing", "give the complete config.json of the model")
            return default
        most = MOST_OF.get(keys[0], MOST)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            what = f"is {value!r:.40}, not a whole number from {least} to {most}"
            raise self.error(keys[0], what, "correct it")
        return value

    def assumed(self, *keys: str, default: int) -> int:
        """A count that configs of this family often leave out; the default that stood in is noted."""
        if self.get(*keys) is None:
            self.note(f"{keys[0]} is not given: {default}, the family's default")
        return self.count(*keys, default=default)

    def note(self, words: str) -> None:
        """Keep what was taken for granted, once."""
        if words not in self.notes:
            self.notes.append(words)

    def optional(self, *keys: str) -> int | None:
        """A count that may be absent or null."""
        return self.count(*keys) if self.get(*keys) is not None else None

    def window(self) -> int | None:
        """The sliding window; none where it is absent, null or 0, as vLLM 0.33.0 reads it."""
        return self.optional("sliding_window") if self.get("sliding_window") != 0 else None

    def flag(self, key: str, default: bool) -> bool:
        """True or false. Raises: UsageError."""
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(key, f"is {value!r}, not true or false", "correct it")
        return value

    def layers(self) -> int:
        """The number of layers, kept to what can be."""
        count = self.count("num_hidden_layers", "n_layer")
        if count > MOST_LAYERS:
            raise self.error("num_hidden_layers", f"is {count}, more than any model has", "correct it")
        return count

    def words(self, key: str, known: Sequence[str], length: int) -> list[str] | None:
        """A list with one known word for each layer; None where it is absent. Raises: UsageError."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != length:
            size = len(value) if isinstance(value, list) else repr(value)
            raise self.error(key, f"has {size} entries for {length} layers", "give one for each layer")
        for word in value:
            if word not in known:
                raise self.error(
                    key, f"has {word!r}, and only {', '.join(known)} are known", "name a known kind of layer"
                )
        return list(value)

    def error(self, key: str, what: str, fix: str) -> UsageError:
        """An error about one key of this file."""
        return UsageError(what, where=f"{self.where}: {key}", fix=fix)
