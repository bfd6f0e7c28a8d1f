"""Sampled metrics: what they say of the exact ones, and what corrects them."""

GROUP = "What sampling negatives does to metrics, and what corrects it."
