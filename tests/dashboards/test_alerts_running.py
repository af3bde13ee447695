"""Every alert in a running Prometheus: it fires with its words, names nothing that is well, and ends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from fakes.promtool import ALERTS
from fakes.quick_rules import quick_config
from fakes.running_prometheus import RunningPrometheus, Watch, needs_prometheus, running_prometheus
from fakes.stepping_pages import SteppingPages
from fakes.troubled_deployments import NOTHING_WATCHED, TROUBLES, pages, targets

from dashboards.query import Prometheus

pytestmark = [pytest.mark.slow, needs_prometheus, pytest.mark.timeout(400)]
RUNBOOK = Path(__file__).parents[2] / "docs" / "alerts.md"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Watch, set[frozenset[tuple[str, str]]]]:
    """Nothing to watch; then all is well; then all troubles at once; then all is well again."""
    folder = tmp_path_factory.mktemp("alerts")
    with (
        SteppingPages(pages()).served() as served,
        running_prometheus(folder, _config(folder)) as prometheus,
    ):
        watch = Watch(prometheus)
        watch.until(lambda: NOTHING_WATCHED.key in watch.fired)
        _tell(folder, served.address)
        watch.until(lambda: watch.active == [] and _scraped(prometheus))
        _tell(folder, served.address, without="gone")
        served.badly = True
        for path in ("/calm", "/calm/engine"):
            served.pages[path].start_again()
        watch.until(lambda: all(trouble.key in watch.fired for trouble in TROUBLES))
        _tell(folder, served.address)
        served.badly = False
        watch.until(lambda: watch.active == [])
        return watch, _once_pending(prometheus)


def test_each_fires_with_its_labels_and_nothing_else_does(seen) -> None:
    watch, _ = seen
    assert set(watch.fired) == {trouble.key for trouble in (*TROUBLES, NOTHING_WATCHED)}


@pytest.mark.parametrize(
    "trouble", [*TROUBLES, NOTHING_WATCHED], ids=lambda t: f"{t.alert} {t.labels['severity']}"
)
def test_its_words_are_whole_and_lead_to_a_chapter(trouble, seen) -> None:
    watch, _ = seen
    words = dict(watch.fired[trouble.key].annotations)
    assert re.fullmatch(trouble.says, words["summary"])
    assert words.keys() == {"summary", "description", "runbook_url"}
    assert words["description"]
    assert not re.search(r"<|\{\{|error", words["description"])
    anchors = {name.lower() for name in re.findall(r"^### (\w+)$", RUNBOOK.read_text(), flags=re.MULTILINE)}
    assert words["runbook_url"].removeprefix("docs/alerts.md#") in anchors


def test_it_is_pending_first_where_its_condition_must_hold(seen) -> None:
    _, pending = seen
    for trouble in (*TROUBLES, NOTHING_WATCHED):
        assert (trouble.key in pending) == trouble.waits, trouble.alert


def test_the_troubles_are_of_every_alert_of_the_committed_file() -> None:
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    committed = [(rule["alert"], rule["labels"]["severity"]) for rule in rules]
    troubled = [(trouble.alert, trouble.labels["severity"]) for trouble in (*TROUBLES, NOTHING_WATCHED)]
    assert sorted(troubled) == sorted(committed)


def _config(folder: Path) -> str:
    _tell(folder, None)
    jobs = [
        {"job_name": job, "file_sd_configs": [{"files": [str(folder / f"{job}.json")]}]}
        for job in ("gateway", "engine")
    ]
    return quick_config(folder, jobs)


def _tell(folder: Path, address: str | None, without: str = "") -> None:
    """Write the target files, whole; without an address there are no targets."""
    for job in ("gateway", "engine"):
        groups = [] if address is None else targets(address, job, without=without)
        beside = folder / f".{job}"
        beside.write_text(json.dumps(groups))
        beside.replace(folder / f"{job}.json")


def _scraped(prometheus: RunningPrometheus) -> bool:
    """Every page was scraped twice."""
    twice = Prometheus(prometheus.url).query("sum_over_time(up[10m]) >= 2")
    return len(twice) == len(pages())


def _once_pending(prometheus: RunningPrometheus) -> set[frozenset[tuple[str, str]]]:
    """The labels of all alerts that were ever pending, as Prometheus' own record has them."""
    samples = Prometheus(prometheus.url).query('present_over_time(ALERTS{alertstate="pending"}[10m])')
    return {
        frozenset((name, value) for name, value in sample.labels.items() if name != "alertstate")
        for sample in samples
    }
