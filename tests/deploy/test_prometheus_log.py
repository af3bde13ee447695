"""Lines as Prometheus 2.42 wrote them when each of these was done to it."""

from __future__ import annotations

import pytest

from deploy.prometheus_log import cannot_record, trouble

FULL = (
    'level=error component="scrape manager" scrape_pool=prometheus target=http://127.0.0.1:9397/metrics '
    'msg="Scrape commit failed" err="write to WAL: log series: write d/wal/00000000: no space left on device"'
)
LINES = {
    "its port is taken": 'level=error msg="Unable to start web listener" '
    'err="listen tcp 127.0.0.1:9397: bind: address already in use"',
    "it refuses its configuration": 'level=error msg="Error loading config (--config.file=bad.yml)" '
    'err="parsing YAML file bad.yml: yaml: unmarshal errors: field nonsense not found in type config.plain"',
    "it does not know its arguments": "Error parsing commandline arguments: unknown long flag '--foo.bar'",
    "the disk is full": FULL,
}
BAD_RULES = (
    'level=error component="rule manager" msg="loading groups failed" err="r.yml: yaml: unmarshal errors: '
    'field keep_it not found in type rulefmt.RuleNode"'
)
GOOD = 'level=info msg="Server is ready to receive web requests."'


@pytest.mark.parametrize("what", LINES)
def test_a_complaint_is_known_among_other_lines(what: str) -> None:
    found = trouble([GOOD, LINES[what], GOOD])
    assert found is not None
    assert found.what == what
    assert found.fix


def test_refused_rules_are_a_refused_configuration() -> None:
    found = trouble([GOOD, BAD_RULES])
    assert found is not None
    assert found.what == "it refuses its configuration"


def test_where_nothing_is_known_nothing_is_said() -> None:
    assert trouble([GOOD]) is None
    assert trouble([]) is None


def test_a_full_disk_is_what_it_lives_with_and_does_not_record() -> None:
    assert cannot_record([GOOD]) is None
    assert cannot_record([LINES["its port is taken"]]) is None
    found = cannot_record([GOOD, FULL])
    assert found is not None
    assert found.what == "the disk is full"
