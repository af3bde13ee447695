"""The modes an engine can run in: one file a kind, registered here.

A new mode is a file with one subclass of `Mode`, and one line in `AnyMode`.
"""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from serving.modes.chunked_prefill import ChunkedPrefill
from serving.modes.disaggregated import Disaggregated
from serving.modes.lora import Lora
from serving.modes.mode import Mode
from serving.modes.parallel import Parallel
from serving.modes.prefix_cache import PrefixCache
from serving.modes.quantized_kv import QuantizedKv
from serving.modes.quantized_weights import QuantizedWeights
from serving.modes.speculative import Speculative

AnyMode = Annotated[
    PrefixCache
    | ChunkedPrefill
    | QuantizedWeights
    | QuantizedKv
    | Speculative
    | Parallel
    | Disaggregated
    | Lora,
    Field(discriminator="kind"),
]
"""A mode of the deployment file, told apart by its `kind`."""

MODES: tuple[type[Mode], ...] = get_args(get_args(AnyMode)[0])
"""All modes, in the order in which they are listed for people."""
