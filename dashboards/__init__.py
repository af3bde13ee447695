"""What people watch: SLIs, boards, recording rules and alerts, generated from one source.

Stands on the pure floor of `serving`; knows nothing about the load generator's code (it reads its metrics'
names from the facts), about engines' processes or about the gateway.
"""
