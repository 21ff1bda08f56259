"""Extensions of a set function to vectors x in the unit cube."""
