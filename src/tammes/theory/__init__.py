"""What theory says of the number of negatives: pure functions of numbers."""
