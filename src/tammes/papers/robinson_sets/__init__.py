"""Robinson, "Modeling the Geometry of Neural Network Representation Spaces", chapter 8: set functions."""

from tammes.papers.entry import Entry, run_of

SETS_COMBINATORIAL = Entry(
    name="sets-combinatorial",
    statement="Networks trained through neural set function extensions find larger cliques and independent "
    "sets than those trained through scalar ones, and compare well with other methods.",
    source="Robinson (2023), section 8.5.1, Table 8.1, and Figure 8-5",
    data="a folder with unpacked archives of the TU collection in it: MUTAG, ENZYMES, IMDB-BINARY, PROTEINS, "
    "COLLAB, or some of them",
    run=run_of("tammes.papers.robinson_sets.combinatorial"),
)

SETS_EIGENVECTORS = Entry(
    name="sets-eigenvectors",
    statement="A neural extension needs few eigenvectors: performance saturates around four, and the "
    "spectrum of X falls rapidly.",
    source="Robinson (2023), section 8.5.4, Figure 8-3",
    data="a folder with unpacked archives of the TU collection in it: ENZYMES, PROTEINS, or one of them",
    run=run_of("tammes.papers.robinson_sets.eigenvectors"),
)

SETS_K_CLIQUE = Entry(
    name="sets-k-clique",
    statement="An extension that looks at sets of at most k elements is better at telling whether a graph "
    "has a clique of size k than the Lovász extension and REINFORCE.",
    source="Robinson (2023), section 8.5.2, Figure 8-2",
    data="a folder with unpacked archives of the TU collection in it: ENZYMES, PROTEINS, or one of them",
    run=run_of("tammes.papers.robinson_sets.k_clique"),
)

SETS_SEARCH = Entry(
    name="sets-search",
    statement="With the best of 27 settings, networks trained through neural set function extensions find "
    "larger cliques and independent sets than those trained through scalar ones.",
    source="Robinson (2023), section 8.5.1, Table 8.1, and appendix F.6",
    data="a folder with unpacked archives of the TU collection in it: MUTAG, ENZYMES, IMDB-BINARY, PROTEINS, "
    "or some",
    run=run_of("tammes.papers.robinson_sets.search"),
)

SETS_TRAINING_ERROR = Entry(
    name="sets-training-error",
    statement="The singleton extension of the training error, used as a loss, follows the error at its own "
    "scale, and can be used to minimize it.",
    source="Robinson (2023), section 8.5.3, Figure 8-4",
    data="CIFAR-10, SVHN or MNIST as published",
    run=run_of("tammes.papers.robinson_sets.training_error"),
)
