"""What commands share of their options: the data, the objective, the training, the device, the output."""
