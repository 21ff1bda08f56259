"""Jiang, Ishwar and Aeron, "Hard Negative Sampling via Regularized Optimal Transport"."""
