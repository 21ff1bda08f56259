"""Figures of the pages: pure functions from arrays to a matplotlib Figure."""
