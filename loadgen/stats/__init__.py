"""The numbers of a run, computed from its records: definitions, percentiles, goodput, the summary.

Owns: every definition of a latency or a rate, once. Knows nothing about clocks, files or the network.
"""
