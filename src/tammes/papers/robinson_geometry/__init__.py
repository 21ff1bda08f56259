"""Robinson, "Modeling the Geometry of Neural Network Representation Spaces", chapters 3 and 5: geometry."""

from tammes.papers.entry import Entry, run_of

IMAGES = (
    "CIFAR-10 (cifar-10-binary.tar.gz or cifar-10-batches-bin), SVHN or MNIST in their published files, or a "
    "folder of images with a folder for each class"
)

GEOMETRY_ABLATION = Entry(
    name="geometry-ablation",
    statement="The invariance and the equivariance loss without a term against collapse collapse, uniformity "
    "alone is no better than random weights, uniformity and equivariance learn, and all three terms learn "
    "best.",
    source="Robinson (2023), section 5.5.4, Figures 5-2 and C-1 to C-6",
    run=run_of("tammes.papers.robinson_geometry.ablation"),
    data=IMAGES,
)

GEOMETRY_BIAS = Entry(
    name="geometry-bias",
    statement="The debiased loss differs from its limit by a bias that falls like 1 / sqrt(N) in the number "
    "of negatives and like 1 / sqrt(M) in that of positives.",
    source="Robinson (2023), Theorem 2 and Lemmas 1 and 2",
    run=run_of("tammes.papers.robinson_geometry.bias"),
)

GEOMETRY_CLASSIFICATION = Entry(
    name="geometry-classification",
    statement="The linear readout of encoders trained with the equivariance loss is consistently better than "
    "without it, for SimCLR and for MoCo.",
    source="Robinson (2023), section 5.5.3, Figure 5-8",
    run=run_of("tammes.papers.robinson_geometry.classification"),
    data=IMAGES,
)

GEOMETRY_EQUIVARIANCE = Entry(
    name="geometry-equivariance",
    statement="With the equivariance loss one rotation describes an augmentation better: Wahba's error, the "
    "relative equivariance error and, on the circle, the variance of the cosine are lower than for SimCLR.",
    source="Robinson (2023), sections 5.4 and 5.5.2, Figures 5-3 to 5-5 and 5-7",
    run=run_of("tammes.papers.robinson_geometry.equivariance"),
    data=IMAGES,
)

GEOMETRY_PACKING = Entry(
    name="geometry-packing",
    statement="With ever harder negatives, embeddings that minimize the loss put each class in one place, "
    "and the places of the classes are as far apart as they can be.",
    source="Robinson (2023), section 3.4, Proposition 1 and Theorem 3",
    run=run_of("tammes.papers.robinson_geometry.packing"),
)

GEOMETRY_RETRIEVAL = Entry(
    name="geometry-retrieval",
    statement="If the colors of a query change, the images that an encoder with the equivariance loss "
    "retrieves change more than those of SimCLR, whose colors stay the same.",
    source="Robinson (2023), section 5.5.1, Figure 5-6",
    run=run_of("tammes.papers.robinson_geometry.retrieval"),
    data="a folder of images with a folder for each class (Flowers-102), or CIFAR-10 in its published files",
)
