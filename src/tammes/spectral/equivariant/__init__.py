"""Linear maps between matrices, vectors and tensors over nodes that are equivariant to permutations."""
