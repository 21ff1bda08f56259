"""Training in several processes: how they start, meet, average gradients and fail together."""
