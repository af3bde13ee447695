from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel

from deploy.study.file import StudyFile
from loadgen.workload import Workload
from serving.config.kinds import KINDS, other_kind
from serving.config.load import load_deployment, load_model
from serving.config.schema import Deployment
from serving.errors import UsageError

OF: Mapping[str, type[BaseModel]] = {"deployment": Deployment, "workload": Workload, "study": StudyFile}


def test_each_kind_has_the_keys_by_which_it_is_told_and_the_others_have_not() -> None:
    for kind in KINDS:
        for name, model in OF.items():
            shared = kind.keys & set(model.model_fields)
            assert shared == (kind.keys if name == kind.name else set())


def test_a_workload_that_is_to_be_served_is_told_for_what_it_is(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("name: w\narrival: {process: constant, rate: 2/s}\n")

    with pytest.raises(UsageError) as refused:
        load_deployment(str(file))

    assert refused.value.problems[0].what == "this looks like a workload file"
    assert "teapot load run" in str(refused.value.problems[0].fix)


def test_a_deployment_that_is_to_be_sent_is_told_for_what_it_is(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("model: m\nengine: {device: cpu}\n")

    with pytest.raises(UsageError, match="this looks like a deployment file"):
        load_model(str(file), Workload)


def test_a_misspelt_key_is_no_other_kind() -> None:
    assert other_kind("d.yaml", ["model", "moddes"], ["model", "modes"]) is None
