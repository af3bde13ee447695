"""Which of the public paths make an engine work.

Owns: that list. Knows nothing about routes (`serving.gateway.routes`) or what is asked of metrics.
"""

from __future__ import annotations

WORKING = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings")
"""Lists of models and counts of tokens are always fast, and would dilute every share and every latency."""
