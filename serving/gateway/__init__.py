"""The one OpenAI-compatible address in front of the engines.

Start with `server.Gateway`. The edge is `app` and what it asks in turn: `routes`, `reception`, `intake` and
`gate`; behind it `proxy` chooses, opens and relays; `public` puts both together, here or in `workers`.
"""
