import pytest

from loadgen.stats.notes import notes, prefix_cache
from loadgen.stats.plan import ServerView
from loadgen.stats.saturation import Saturation


def told(ok, *, piled=None, server=None, measured=None, tokens_per_chunk=1.0):
    return notes(
        ok,
        ok if measured is None else measured,
        tokens_per_chunk=tokens_per_chunk,
        piled=piled,
        server=server,
    )


def test_cached_prompt_tokens_are_counted_over_the_answers_that_tell(record):
    ok = [
        record(10, prompt_tokens=100, cached_tokens=60),
        record(10, prompt_tokens=100, cached_tokens=0),
        record(10, prompt_tokens=900),
    ]

    assert prefix_cache(ok) == {"answers": 2, "prompt_tokens": 200, "cached_tokens": 60, "cached_ratio": 0.3}


def test_what_no_answer_tells_of_the_cache_is_unknown_and_not_zero(record):
    assert prefix_cache([record(10, prompt_tokens=100)]) is None
    assert prefix_cache([]) is None


def test_a_warm_cache_is_called_one(record):
    warm = [record(10, prompt_tokens=100, cached_tokens=50)]

    assert "50 of 100 prompt tokens came from the prefix cache: TTFT is that of a warm cache" in told(warm)


def test_the_servers_hit_ratio_is_told_where_answers_do_not_tell(record):
    found = told([record(10, prompt_tokens=100)], server=ServerView(prefix_cache_hit_ratio=0.25))

    assert any(note.startswith("25.0% of the prompt tokens looked up hit the prefix cache") for note in found)


def test_a_load_that_piles_up_comes_first(record):
    growing = Saturation("growing", in_flight_growth=41.7, arrived_per_s=4.0, ended_per_s=3.1)

    first = told([record(10)], piled=growing)[0]

    assert first.startswith(
        "requests piled up: 42 more in flight at the end of the steady span than at its start"
    )
    assert "4/s arrived and 3.1/s ended" in first


@pytest.mark.parametrize("verdict", ["steady", "unknown"])
def test_a_load_that_does_not_pile_up_is_not_noted(record, verdict):
    assert not any("piled" in note for note in told([record(10)], piled=Saturation(verdict)))
