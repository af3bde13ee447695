"""Requests that two engines answer: one computes the prompt, the other writes the answer."""
