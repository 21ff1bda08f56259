"""Extensions of a set function to matrices, by way of their leading eigenvectors."""
