from __future__ import annotations

from loadgen.workload_files import without_places


def test_a_file_with_a_known_hash_is_left_without_its_place() -> None:
    value = {"of": [{"file": "/a/b", "sha256": "00"}, {"file": "c", "sha256": None}], "file": "d"}
    assert without_places(value) == {"of": [{"sha256": "00"}, {"file": "c", "sha256": None}], "file": "d"}
