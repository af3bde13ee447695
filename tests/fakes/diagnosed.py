"""Questions of the planner about a deployment's text, on this machine's CPU or on a GPU by name."""

from __future__ import annotations

import argparse

from deploy.plan_file import question
from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.planner.ask import Ask


def options(**given: object) -> argparse.Namespace:
    """What `teapot diagnose` reads of the device and of drafts; nothing is given."""
    names = ("gpu", "gpu_memory", "bandwidth", "flops", "fp8_flops", "device", "acceptance")
    return argparse.Namespace(**(dict.fromkeys(names) | given))


def ask_of(text: str, **given: object) -> Ask:
    """The question about a deployment of the embedded model, whose shape teapot knows."""
    document = parse(f"name: asked\nmodel: smollm2-135m\n{text}\n", "asked.yaml")
    return question(validate(document, Deployment), document, options(**given))
