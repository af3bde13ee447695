"""The variables of the boards, each once, and the scopes that they make.

Owns: which labels each kind of series is narrowed by. Knows nothing about panels.
"""

from __future__ import annotations

from dashboards.panels import Variable
from dashboards.promql import Scope, series
from dashboards.slis import load, own, vllm

_SEEN = f'{{__name__=~"up|{own("gateway_backend_ready")}", deployment="$deployment"}}'
"""Revisions and roles are on engines' targets and, also of engines elsewhere, on what the gateway says."""

DEPLOYMENT = Variable(name="deployment", title="Deployment", query="label_values(up, deployment)")
WHOLE = Scope(('deployment="$deployment"',))
"""Everything of a deployment."""

REVISION = Variable(name="revision", title="Revision", many=True, query=f"label_values({_SEEN}, revision)")
SIDE = WHOLE.only('revision=~"$revision"')
"""What the gateway saw, or engines say, of the revisions chosen."""

ROLE = Variable(name="role", title="Role", many=True, query=f"label_values({_SEEN}, role)")
_ENGINES = series("up", SIDE.only('role=~"$role"'), job="engine")
INSTANCE = Variable(name="instance", title="Engine", many=True, query=f"label_values({_ENGINES}, instance)")
MODEL = Variable(
    name="model", title="Model", many=True,
    query=f"label_values({series(vllm('requests_running'), WHOLE)}, model_name)",
)  # fmt: skip
TARGETS = SIDE.only('role=~"$role"', 'instance=~"$instance"')
"""What is known of engines beside their models' metrics."""
ENGINES = TARGETS.only('model_name=~"$model"')
"""What engines say."""
BACKENDS = SIDE.only('role=~"$role"', 'backend=~"$instance"')
"""What the gateway says of the same engines."""

RUN = Variable(
    name="run", title="Run", many=True, query=f"label_values({load('sent')}, run)", last_first=True
)
LOAD = Scope(('run=~"$run"',))
"""What the load generator measured. Whom it loaded is not always known, so its series have no deployment."""

ANSWERING = 'role!="prefill"'
"""Engines whose tokens clients get. A divided request runs on two: the first makes one token of it that
nobody sees, finishes it with `length`, and takes its TPOT for 0."""

_SIDES = f"label_values({series(own('gateway_revision_weight'), WHOLE)}, revision)"
BASELINE = Variable(name="baseline", title="Baseline", query=_SIDES)
CANARY = Variable(name="canary", title="Canary", query=_SIDES, last_first=True)
ENOUGH = Variable(name="enough", title="Enough requests", default="93")
"""A 95 % interval of a p95 exists from 93 samples on."""

DEVICES = Variable(name="devices", title="Devices", default="0")
PRICE = Variable(name="price", title="$ per device-hour", default="0")
