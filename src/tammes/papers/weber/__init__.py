"""Weber and Bachman, "Sampling Informative Positives Pairs in Contrastive Learning"."""

from tammes.papers.entry import Entry, run_of

POSITIVES_REAL_DATA = Entry(
    name="positives-real-data",
    statement="Positives near the boundary of a classifier in the embedding, and positives that vary little "
    "in what matters and freely in the rest, are more effective than random ones. (Stated for latents; here "
    "on images.)",
    source="Weber and Bachman (2022), sections III and IV, Tables I and II",
    run=run_of("tammes.papers.weber.active"),
    data="CIFAR-10 (cifar-10-binary.tar.gz or cifar-10-batches-bin) or MNIST (its four idx files), or both",
)

POSITIVES_FIGURE_3 = Entry(
    name="positives-figure-3",
    statement="Even small differences between the perturbations of informative and of other latents improve "
    "over equal ones.",
    source="Weber and Bachman (2022), Figure 3 and supplement, sec. E",
    run=run_of("tammes.papers.weber.figure_3"),
)

POSITIVES_TABLE_1 = Entry(
    name="positives-table-1",
    statement="Positives that are augmented until they lie near the boundary of a classifier on the current "
    "embedding recover latent classes better than random augmentations.",
    source="Weber and Bachman (2022), Table I",
    run=run_of("tammes.papers.weber.table_1"),
)

POSITIVES_TABLE_2 = Entry(
    name="positives-table-2",
    statement="Small perturbations of the informative latents with the others drawn anew, or only perturbed "
    "more, make better positives than perturbations of equal size.",
    source="Weber and Bachman (2022), Table II",
    run=run_of("tammes.papers.weber.table_2"),
)
