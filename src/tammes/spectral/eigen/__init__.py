"""Eigenpairs of graphs, meshes and directed graphs, and their grouping into eigenspaces."""
