"""Combinatorial problems: an objective to descend on, a score, and an exact solver."""
