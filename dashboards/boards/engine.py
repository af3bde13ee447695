"""The second board: what binds the engines, one by one.

Owns: what it shows and in which order. Knows nothing about how it is drawn.
"""

from __future__ import annotations

from dashboards.boards.choices import (
    BACKENDS,
    DEPLOYMENT,
    ENGINES,
    INSTANCE,
    MODEL,
    REVISION,
    ROLE,
    TARGETS,
)
from dashboards.boards.looks import FINISHED, GOOD, SOURCES, UP, ask, latency
from dashboards.panels import Board, Panel, Query, Row
from dashboards.promql import quantile, series, total, total_rate
from dashboards.slis import vllm

_EACH = ENGINES.split("instance")
_PER_REASON = ENGINES.split("reason")

_BINDS = Row(
    "What binds?",
    (
        Panel(
            key="batch",
            title="Running, and waiting by reason",
            unit="requests",
            queries=(
                ask("running", ENGINES, "running", color=GOOD),
                Query(
                    expr=total(series(vllm("requests_waiting_by_reason"), _PER_REASON), _PER_REASON),
                    legend="waiting: {{reason}}",
                ),
            ),
            colors=(("waiting: capacity", "red"), ("waiting: deferred", "amber")),
            stacked=True,
            help="capacity: no batch slot or no KV blocks; deferred: waits for KV from elsewhere or an "
            "adapter. Do: capacity above 0: raise max_num_seqs while KV blocks are free, else add engines.",
            lowest=0,
            decimals=0,
        ),
        Panel(
            key="kv_usage",
            title="KV cache in use",
            unit="ratio",
            queries=(ask("kv_usage", _EACH, "{{instance}}"),),
            help="Blocks in use, of all. Full is good as long as nothing is preempted. Do: at 100 % with "
            "preemptions, give the cache more memory, quantize it, or run fewer at once.",
            lowest=0,
            highest=1,
        ),
        Panel(
            key="preemptions",
            title="Preemptions",
            unit="events/s",
            queries=(Query(expr=total_rate(vllm("preemptions"), _EACH), legend="{{instance}}"),),
            help="Running requests that lost their KV blocks and are computed again: each one is work done "
            "twice. Do: above 0 for long, lower max_num_seqs or give the cache more memory.",
            lowest=0,
        ),
        Panel(
            key="step_tokens",
            title="Tokens in one step, mean",
            unit="tokens",
            queries=(ask("step_tokens", _EACH, "{{instance}}"),),
            help="Prefill and decode together. Near max_num_batched_tokens compute binds; near what runs, "
            "memory bandwidth does. Do: few tokens a step with a queue: raise max_num_seqs.",
            lowest=0,
        ),
        Panel(
            key="rejections",
            title="Refused by engines",
            unit="events/s",
            queries=(
                Query(
                    expr=total_rate(vllm("admission_rejections"), _PER_REASON),
                    legend="{{reason}}",
                ),
            ),
            help="Requests that an engine's own queue limits turned away. Do: above 0, add engines, or raise "
            "the limit that the series names if waiting longer is fine.",
            lowest=0,
        ),
        Panel(
            key="up",
            title="Engines that answer Prometheus",
            kind="state",
            unit="text",
            queries=(Query(expr=series("up", TARGETS, job="engine"), legend="{{revision}} {{instance}}"),),
            words=UP,
            help="An engine that starts does not answer yet. Do: if one stays down, see `teapot status` and "
            "its log.",
        ),
    ),
)
_TIME = Row(
    "Where does a request's time go?",
    (
        Panel(
            key="time_parts",
            title="Waiting, prefill, decode: mean a request",
            unit="seconds",
            queries=(
                ask("queue_mean", ENGINES, "waiting", color="amber"),
                ask("prefill_mean", ENGINES, "prefill", color="purple"),
                ask("decode_mean", ENGINES, "decode", color="blue"),
            ),
            stacked=True,
            help="Exact means of requests that finished. Do: waiting: more slots or engines; prefill: prefix "
            "cache, shorter prompts; decode: speculation, quantization, fewer at once.",
            lowest=0,
        ),
        Panel(
            key="ttft",
            title="TTFT at the engine",
            unit="seconds",
            queries=latency("engine_ttft", ENGINES),
            help="From arrival at the engine, so without the gateway. Do: compare with the Overview; a gap "
            "is the gateway's queue.",
            lowest=0,
        ),
        Panel(
            key="itl",
            title="ITL at the engine",
            unit="seconds",
            queries=latency("engine_itl", ENGINES),
            help="Between two outputs of a request; with speculation an output holds several tokens. Do: a "
            "p99 far above p50 is long prefills in between: lower max_num_batched_tokens.",
            lowest=0,
        ),
    ),
)
_WORK = Row(
    "What do they work on?",
    (
        Panel(
            key="prompt_tokens",
            title="Prompt tokens by source",
            unit="tokens/s",
            queries=(
                Query(
                    expr=total_rate(vllm("prompt_tokens_by_source"), ENGINES.split("source")),
                    legend="{{source}}",
                ),
            ),
            colors=SOURCES,
            stacked=True,
            help="Computed here, found in the prefix cache, or fetched from elsewhere. Do: if local_compute "
            "grows with equal traffic, caches no longer help; see Levers.",
            lowest=0,
        ),
        Panel(
            key="output_tokens",
            title="Output tokens",
            unit="tokens/s",
            queries=(ask("engine_output_tokens", _EACH, "{{instance}}"),),
            help="By engine. Do: engines of one revision and role should be alike; if one is not, see what "
            "it waits for above.",
            lowest=0,
        ),
        Panel(
            key="finished",
            title="Reasons to finish",
            unit="requests/s",
            queries=(
                Query(
                    expr=total_rate(vllm("requests_finished"), ENGINES.split("finished_reason")),
                    legend="{{finished_reason}}",
                ),
            ),
            colors=FINISHED,
            stacked=True,
            help="abort: the client left. Do: more length than ever: max_tokens cuts answers; error: see the "
            "engines' log; repetition: the model loops, see sampling or the last quantization.",
            lowest=0,
        ),
        Panel(
            key="lengths",
            title="Prompt and output length",
            unit="tokens",
            queries=(
                ask("prompt_length", ENGINES, "prompt, mean", color="purple"),
                Query(
                    expr=quantile(0.95, vllm("request_prompt_tokens"), ENGINES),
                    legend="prompt, p95", color="purple", style="dashed",
                ),
                ask("output_length", ENGINES, "output, mean", color="blue"),
                Query(
                    expr=quantile(0.95, vllm("request_generation_tokens"), ENGINES),
                    legend="output, p95", color="blue", style="dashed",
                ),
            ),
            help="Of requests that finished; p95 is as fine as vLLM's buckets (1, 2, 5, 10, ...). Do: "
            "latency that grew with length is no fault of the engine; ask who changed what they send.",
            lowest=0,
        ),
        Panel(
            key="failures",
            title="Failures in the last hour",
            unit="count",
            queries=(ask("engine_failures", BACKENDS.split("backend").over("1h"), "{{backend}}"),),
            help="Crashes, hangs and engines that could not be proven; each is started again. Do: above 0, "
            "`teapot status` has the cause; three in an hour need a human.",
            lowest=0,
            decimals=0,
        ),
        Panel(
            key="memory",
            title="Host memory",
            unit="bytes",
            queries=(
                Query(
                    expr=series("process_resident_memory_bytes", TARGETS, job="engine"),
                    legend="{{instance}}",
                ),
            ),
            help="Of the process that answers HTTP, not of the device. Do: if it grows for days, note its "
            "slope and restart engines one by one.",
            lowest=0,
            optional="only with one API server process an engine",
        ),
    ),
)  # fmt: skip

ENGINE = Board(
    uid="teapot-engine",
    title="Engine",
    help="What binds: batch slots, KV blocks, compute, or what is sent.",
    variables=(DEPLOYMENT, REVISION, ROLE, INSTANCE, MODEL),
    rows=(_BINDS, _TIME, _WORK),
)
