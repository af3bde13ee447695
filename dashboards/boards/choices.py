"""The variables of the boards, each once, and the scopes that they make.

Owns: which labels each kind of series is narrowed by. Knows nothing about panels.
"""

from __future__ import annotations

from dashboards.panels import Variable
from dashboards.promql import Scope

DEPLOYMENT = Variable(name="deployment", title="Deployment", query="label_values(up, deployment)")
MODEL = Variable(
    name="model", title="Model", many=True,
    query='label_values(vllm:num_requests_running{deployment="$deployment"}, model_name)',
)  # fmt: skip
REVISION = Variable(
    name="revision", title="Revision", many=True,
    query='label_values({__name__=~"up|teapot_gateway_backend_ready", deployment="$deployment"}, revision)',
)  # fmt: skip
ROLE = Variable(
    name="role", title="Role", many=True,
    query='label_values({__name__=~"up|teapot_gateway_backend_ready", deployment="$deployment"}, role)',
)  # fmt: skip
INSTANCE = Variable(
    name="instance", title="Instance", many=True,
    query='label_values(up{job="engine", deployment="$deployment", revision=~"$revision", role=~"$role"}, instance)',
)  # fmt: skip
RUN = Variable(
    name="run", title="Run", many=True, query="label_values(teapot_load_requests_sent_total, run)",
)  # fmt: skip

WHOLE = Scope(('deployment="$deployment"',))
"""Everything of a deployment."""
GATEWAY = WHOLE.only('revision=~"$revision"')
"""What the gateway saw."""
ENGINES = GATEWAY.only('role=~"$role"', 'instance=~"$instance"', 'model_name=~"$model"')
"""What engines say."""
