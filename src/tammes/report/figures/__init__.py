"""The page's figures: pure functions from arrays to a matplotlib Figure."""
