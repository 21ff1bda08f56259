"""Gradients through set functions: extensions of f(S) to vectors and matrices."""
