"""Robinson, "Modeling the Geometry of Neural Network Representation Spaces", chapter 8: set functions."""
