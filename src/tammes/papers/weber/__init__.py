"""Weber and Bachman, "Sampling Informative Positives Pairs in Contrastive Learning"."""
