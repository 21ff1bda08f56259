"""Ash et al., "Investigating the Role of Negatives in Contrastive Representation Learning"."""
