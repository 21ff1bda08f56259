"""Robinson, "Modeling the Geometry of Neural Network Representation Spaces", chapter 7: eigenvectors."""
