"""The third board: are the modes in effect, and what does each one gain.

Owns: what it shows and in which order. Knows nothing about how it is drawn.
"""

from __future__ import annotations

from dashboards.boards.choices import DEPLOYMENT, MODEL, REVISION, SIDE, WHOLE
from dashboards.boards.looks import BAD, GOOD, IN_EFFECT, SOURCES, ask
from dashboards.panels import Board, Column, Panel, Query, Row
from dashboards.promql import mean, quantile, ratio, series, total, total_rate
from dashboards.slis import own, vllm

_ENGINES = SIDE.only('model_name=~"$model"')
_EACH = _ENGINES.split("revision")
_SPECULATION = "only with speculation"
_TRANSFER = "only with KV transfer (NIXL)"
_DIVIDED = "only with disaggregated prefill"
_CONFIG = (
    "revision", "role", "instance", "enable_prefix_caching", "cache_dtype", "block_size", "num_gpu_blocks",
    "kv_cache_size_tokens", "kv_cache_max_concurrency",
)  # fmt: skip
CONFIG_COLUMNS = (
    Column(label="revision", title="Revision"),
    Column(label="role", title="Role"),
    Column(label="instance", title="Engine"),
    Column(label="enable_prefix_caching", title="Prefix cache"),
    Column(label="cache_dtype", title="KV format"),
    Column(label="block_size", title="Block, tokens"),
    Column(label="num_gpu_blocks", title="Blocks"),
    Column(label="kv_cache_size_tokens", title="KV cache, tokens"),
    Column(label="kv_cache_max_concurrency", title="Full-length at once"),
)
"""What engines say of their cache, as labels."""


def config_query(scope_matchers: tuple[str, ...]) -> Query:
    """What engines say of their own configuration, one row an engine."""
    scope = WHOLE.only(*scope_matchers).split(*_CONFIG)
    return Query(expr=total(series(vllm("cache_config"), scope), scope, "max"), instant=True)


_EFFECT = Row(
    "Is it in effect?",
    (
        Panel(
            key="modes",
            title="Modes",
            kind="state",
            unit="text",
            queries=(ask("mode_in_effect", WHOLE.split("kind"), "{{kind}}"),),
            words=IN_EFFECT,
            help="Each mode as the engine itself shows it, not as it was asked for. Absent: nobody could "
            "tell. Do: not in effect: `teapot status` has the evidence; it was sized for what it lacks.",
            optional="only with modes that could be proven or disproven",
        ),
        Panel(
            key="config",
            title="What engines run with",
            kind="table",
            unit="text",
            queries=(config_query(('revision=~"$revision"',)),),
            columns=CONFIG_COLUMNS,
            help="From the engines themselves. KV format auto: as the weights. Do: if a format or a size is "
            "not what the file asks for, see `teapot flags` for where the value came from.",
            width=16,
        ),
    ),
)
_PREFIX = Row(
    "Prefix cache",
    (
        Panel(
            key="prefix_hits",
            title="Hit rate",
            unit="ratio",
            queries=(
                ask("prefix_hits", _EACH, "{{revision}}"),
                Query(
                    expr=ratio(
                        total_rate(vllm("external_prefix_cache_hits"), _EACH),
                        total_rate(vllm("external_prefix_cache_queries"), _EACH),
                    ),
                    legend="{{revision}}, from elsewhere", style="dashed",
                    optional="only with a connector that shares KV",
                ),
            ),
            help="Prompt tokens found, of those looked up. Do: if low with long common prompts, put what "
            "changes at the end, and route by prefix (policy prefix_affinity).",
            lowest=0,
            highest=1,
        ),
        Panel(
            key="sources",
            title="Prompt tokens by source",
            unit="tokens/s",
            queries=(
                Query(
                    expr=total_rate(vllm("prompt_tokens_by_source"), _ENGINES.split("source")),
                    legend="{{source}}",
                ),
            ),
            colors=SOURCES,
            stacked=True,
            help="local_cache_hit is prefill saved; external_kv_transfer was computed by another engine, or "
            "saved where a store is shared. Do: compare with TTFT on Overview; savings that do "
            "not show there were not what bound.",
            lowest=0,
        ),
        Panel(
            key="tiers",
            title="Cached tokens by tier",
            unit="tokens/s",
            queries=(
                Query(
                    expr=total_rate(vllm("cached_by_source"), _ENGINES.split("source")),
                    legend="{{source}}",
                ),
            ),
            stacked=True,
            help="Where cached blocks lay: device, host memory, disk, another engine. Do: many from the host "
            "mean the device's cache is too small for what is asked again.",
            lowest=0,
        ),
    ),
)  # fmt: skip
_DRAFTS = total_rate(vllm("spec_decode_drafts"), _ENGINES)
_PER_POSITION = total_rate(vllm("spec_decode_accepted_per_pos"), _ENGINES.split("position"))
_SPECULATIVE = Row(
    "Speculation",
    (
        Panel(
            key="acceptance",
            title="Acceptance rate",
            unit="ratio",
            queries=(ask("acceptance", _EACH, "{{revision}}"),),
            help="Drafted tokens that were accepted. Do: below about half, draft fewer tokens, or another "
            "way; it depends on what is asked.",
            lowest=0,
            highest=1,
            width=6,
            optional=_SPECULATION,
        ),
        Panel(
            key="acceptance_by_position",
            title="Accepted by position",
            unit="ratio",
            queries=(
                Query(
                    expr=f"{_PER_POSITION} / on () group_left () ({_DRAFTS} > 0)",
                    legend="{{position}}",
                ),
            ),
            help="The share of drafts whose token at this position (from 0) was accepted. Do: positions near "
            "0 % are work for nothing: lower `tokens` to those before them.",
            lowest=0,
            highest=1,
            width=6,
            optional=_SPECULATION,
        ),
        Panel(
            key="acceptance_length",
            title="Acceptance length",
            unit="tokens",
            queries=(ask("acceptance_length", _EACH, "{{revision}}"),),
            help="Tokens that one step of the model gives; 1 is without speculation. Do: the gain in TPOT "
            "cannot be more than this; if TPOT did not fall, the engine is bound by compute: turn it off.",
            lowest=0,
            width=6,
            optional=_SPECULATION,
        ),
        Panel(
            key="drafts",
            title="Accepted and wasted drafts",
            unit="tokens/s",
            queries=(
                Query(
                    expr=total_rate(vllm("spec_decode_accepted_tokens"), _ENGINES),
                    legend="accepted", color=GOOD,
                ),
                ask("wasted_drafts", _ENGINES, "wasted", color="amber"),
            ),
            stacked=True,
            help="Wasted tokens cost compute that a full batch would need. Do: under high load with many "
            "wasted, draft fewer tokens.",
            lowest=0,
            width=6,
            optional=_SPECULATION,
        ),
    ),
)  # fmt: skip
_BYTES = f"{vllm('nixl_bytes')}_sum"
_KV = Row(
    "KV transfer",
    (
        Panel(
            key="transfer_bytes",
            title="Bytes transferred",
            unit="bytes/s",
            queries=(Query(expr=total_rate(_BYTES, _EACH), legend="{{revision}}"),),
            help="KV blocks fetched from prefilling engines. Do: near the link's speed, TTFT is bound by it: "
            "quantize the KV cache, or prefill where it is decoded.",
            lowest=0,
            width=8,
            optional=_TRANSFER,
        ),
        Panel(
            key="transfer_time",
            title="Time of a transfer",
            unit="seconds",
            queries=(
                Query(
                    expr=quantile(0.95, vllm("nixl_transfers"), _ENGINES), legend="p95", color="blue",
                ),
                Query(
                    expr=mean(vllm("nixl_transfers"), _ENGINES), legend="mean", color="grey", style="dashed",
                ),
                Query(expr=mean(vllm("nixl_post_time"), _ENGINES), legend="to post it, mean", color="amber"),
            ),
            help="Part of TTFT. Do: if it grows with equal bytes, the link is shared or falls back to TCP; "
            "see the connector's log.",
            lowest=0,
            width=8,
            optional=_TRANSFER,
        ),
        Panel(
            key="transfer_failures",
            title="Failures and expiries",
            unit="events/s",
            queries=(
                Query(expr=total_rate(vllm("nixl_failed_transfers"), _ENGINES), legend="failed", color=BAD),
                Query(expr=total_rate(vllm("nixl_kv_expired"), _ENGINES), legend="expired", color="amber"),
            ),
            help="expired: blocks were freed before the decoding engine came for them. Do: expired: decoding "
            "engines are too busy, add some; failed: see the engines' log.",
            lowest=0,
            width=8,
            optional=_TRANSFER,
        ),
        Panel(
            key="fallbacks",
            title="Answered by one engine alone",
            unit="ratio",
            queries=(ask("prefill_fallbacks", SIDE.split("revision"), "{{revision}}"),),
            help="Divided requests whose first leg or transfer failed. Do: above a few percent it costs "
            "TPOT: see which engine prefills and whether it is ready.",
            lowest=0,
            width=12,
            optional=_DIVIDED,
        ),
        Panel(
            key="prefill_leg",
            title="First leg of divided requests",
            unit="seconds",
            queries=(
                Query(
                    expr=quantile(0.95, own("gateway_prefill_leg"), SIDE), legend="p95", color="blue",
                ),
                Query(
                    expr=mean(own("gateway_prefill_leg"), SIDE), legend="mean", color="grey", style="dashed",
                ),
            ),
            help="What prefilling elsewhere takes, waiting included. Do: most of TTFT: add prefilling "
            "engines; little of it: the rest is transfer or decode's queue.",
            lowest=0,
            width=12,
            optional=_DIVIDED,
        ),
    ),
)  # fmt: skip

LEVERS = Board(
    uid="teapot-levers",
    title="Levers",
    help="Is each mode in effect, and what does it gain?",
    variables=(DEPLOYMENT, REVISION, MODEL),
    rows=(_EFFECT, _PREFIX, _SPECULATIVE, _KV),
)
