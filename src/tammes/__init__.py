"""Tammes: learn representations by comparing pairs, with the pairs well chosen."""
