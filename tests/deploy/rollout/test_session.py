"""Which rollout a file means, and what it is planned as by what runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.fake_deployment import FakeDeployment, Revision
from fakes.revisions import Said

from deploy.rollout import asking
from deploy.rollout.entries import moved
from deploy.rollout.machine import State
from deploy.rollout.session import begin, carry_out, last, planned, rollouts_of, unfinished
from serving.config.load import load_deployment
from serving.errors import Failed, UsageError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    return home


@pytest.fixture
def there() -> Any:
    return FakeDeployment()


def file_of(home: EngineHome, stem: str, **keys: Any) -> Path:
    made = home.deployment(**({"name": "demo"} | keys))
    return made.rename(made.with_name(f"{stem}.yaml"))


def test_a_new_revision_is_called_as_told_or_as_in_its_file_or_as_its_file(
    home: EngineHome, there: Any
) -> None:
    plain = file_of(home, "new")
    named = file_of(home, "named", revisions=[{"name": "v2"}])
    names = [
        planned(load_deployment(str(path), ())[0], path, there, name).canary
        for path, name in ((plain, None), (named, None), (named, "v3"))
    ]
    assert names == ["new", "v2", "v3"]


def test_it_takes_the_place_of_the_revision_with_the_largest_share(home: EngineHome, there: Any) -> None:
    there.rows = {"a": Revision("ready", "/a.yaml", 0.3), "b": Revision("ready", "/b.yaml", 0.7)}
    path = file_of(home, "new")
    plan = planned(load_deployment(str(path), ())[0], path, there, None)
    assert (plan.baseline, plan.baseline_file, plan.file) == ("b", "/b.yaml", str(path))


@pytest.mark.parametrize(
    ("stem", "name", "said"),
    [
        ("main", None, "would be called 'main'"),
        ("new", "a/b", "cannot be called 'a/b'"),
        ("new", "other", "cannot be called 'other'"),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused(
    home: EngineHome, there: Any, stem: str, name: str | None, said: str
) -> None:
    there.rows["other"] = Revision("ready", "/o.yaml", 0.0)
    path = file_of(home, stem)
    with pytest.raises(UsageError, match=said):
        planned(load_deployment(str(path), ())[0], path, there, name)


def test_an_interrupted_rollout_of_the_same_file_is_gone_on_with(home: EngineHome, there: Any) -> None:
    path, console = file_of(home, "new"), Said()
    first = begin(path, there, None, console)
    first.journal.append(moved(State(name="baking", since_s=5.0, step=0, window_s=6.0), "moved"))
    again = begin(path, there, "another-name", console)
    assert again.folder == first.folder
    assert (again.before.state.name, again.before.plan.canary) == ("baking", "new")
    assert "going on with the rollout that began before" in console.text()
    assert unfinished(rollouts_of("demo")).folder == first.folder


def test_a_file_that_was_changed_since_is_told_from_what_is_rolled_out(home: EngineHome, there: Any) -> None:
    path, console = file_of(home, "new"), Said()
    first = begin(path, there, None, console)
    begin(path, there, None, console)
    assert "was changed since" not in console.text()
    path.write_text(path.read_text() + "# another day\n")
    begin(path, there, None, console)
    assert f"{path} was changed since: its settings of then go on" in console.text()
    first.journal.append(moved(State(name="promoting", since_s=5.0, step=3), "passed"))
    there.rows = {"new": Revision("ready", str(path), 1.0)}
    assert carry_out(unfinished(rollouts_of("demo")), there, console, lambda seconds: None) == 0
    assert "as it is now, it serves something else" in console.text()


def test_no_rollout_begins_beside_a_revision_that_cannot_answer(home: EngineHome, there: Any) -> None:
    there.rows["main"].state = "failed"
    with pytest.raises(Failed, match="revision 'main' has requests and cannot answer them: it is failed"):
        begin(file_of(home, "new"), there, None, Said())
    assert last(rollouts_of("demo")) is None


def test_how_long_nobody_answers_is_said_before_the_old_engines_end(home: EngineHome, there: Any) -> None:
    console = Said()
    begin(file_of(home, "new", rollout={"strategy": "replace"}), there, None, console)
    assert "nobody answers for about 37 s" in console.text()  # 21.5 s to come up, and 15 s to end.
    assert there.calls == []


def test_of_another_file_it_is_refused_until_the_first_is_over(home: EngineHome, there: Any) -> None:
    path, console = file_of(home, "new"), Said()
    first = begin(path, there, None, console)
    other = file_of(home, "other")
    with pytest.raises(Failed, match=r"the rollout of .*new\.yaml is not over \(planned\)"):
        begin(other, there, None, console)
    first.journal.append(moved(State(name="failed", since_s=5.0), "refused"))
    assert begin(other, there, None, console).before.plan.canary == "other"


def test_it_is_taken_back_although_its_file_is_gone_or_broken_by_now(home: EngineHome, there: Any) -> None:
    path, console = file_of(home, "new"), Said()
    session = begin(path, there, None, console)
    session.journal.append(moved(State(name="baking", since_s=5.0, step=0, window_s=6.0), "moved"))
    there.rows = {"main": Revision("ready", "/old.yaml", 0.9), "new": Revision("ready", str(path), 0.1)}
    path.unlink()
    asking.ask(session.folder, "abort")
    assert carry_out(unfinished(rollouts_of("demo")), there, console, lambda seconds: None) == 1
    assert there.calls == ["weigh main=1", "end new finish"]
    assert list(there.rows) == ["main"]
    assert "nothing is marked in Grafana" in console.text()


def test_one_that_never_got_its_first_line_onto_the_disk_never_began(home: EngineHome, there: Any) -> None:
    first = begin(file_of(home, "new"), there, None, Said())
    torn = first.folder.with_name("20991231-235959-torn")
    torn.mkdir()
    for text in ("", '{"at": 1.0, "kind": "pl'):
        (torn / "journal.jsonl").write_text(text)
        assert unfinished(rollouts_of("demo")).folder == first.folder


def test_without_any_there_is_none(home: EngineHome) -> None:
    assert last(rollouts_of("demo")) is None
    with pytest.raises(Failed, match="no rollout is going on"):
        unfinished(rollouts_of("demo"))
