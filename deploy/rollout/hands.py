"""What a rollout does by itself: it prepares the new file on this machine, and asks engines.

Owns: which of the existing parts does which. Knows nothing about states.
"""

from __future__ import annotations

from dataclasses import dataclass

from deploy.prepared import Among, prepare
from deploy.rollout.evidence import Quality
from deploy.rollout.plan import Plan
from deploy.rollout.probing import compare_answers, warm
from deploy.rollout.seen import Engine
from serving.config.load import load_deployment
from serving.connectors.connector import Legs
from serving.console import Console
from serving.errors import Failed, UsageError
from serving.modes.disaggregated import Disaggregated


@dataclass(frozen=True, slots=True)
class RealHands:
    """On the machine of the serving process."""

    console: Console

    def plan(self, plan: Plan) -> None:
        """Install what is missing, so that the serving process finds it, and refuse what cannot fit.

        Where the old engines end first there is no telling what will be free. Raises: TeapotError.
        """
        prepare(
            plan.file, (), self.console, plan=plan.strategy != "replace", among=Among(plan.canary)
        )  # fmt: skip

    def warm(self, urls: tuple[str, ...]) -> None:
        """Let engines meet each kind of work. Raises: Failed."""
        count = warm(urls)
        self.console.say(f"warmed up with {count} requests")

    def compare(self, plan: Plan, engines: tuple[Engine, ...], baseline: str) -> Quality:
        """Compare each new engine's answers, and each pair's, with those of an old one. Raises: Failed."""
        return compare_answers(engines, baseline, _legs(plan))


def _legs(plan: Plan) -> Legs | None:
    """How the new file's engines hand over to each other; None: they do not, or without being told."""
    try:
        deployment, _ = load_deployment(plan.file, ())
    except UsageError as error:
        raise Failed(f"the new file is not as it was planned any more: {error}") from error
    pair = deployment.mode(Disaggregated)
    return None if pair is None else pair.connector.connector.legs
