"""Exact solutions by integer programming, and the file that caches them."""
