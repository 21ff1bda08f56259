"""Robinson, "Modeling the Geometry of Neural Network Representation Spaces", chapter 3: hard negatives."""

from tammes.papers.entry import Entry, run_of

GRAPHS_HARD = Entry(
    name="graphs-hard",
    statement="Hard negatives do as well as InfoGraph on all of eight sets of graphs, and better on six: by "
    "3.2 points on ENZYMES, 2.4 on REDDIT-BINARY, 1 to 2 on DD and PTC, and 0.5 or more on "
    "IMDB-BINARY and MUTAG.",
    source="Robinson (2023), section 3.5.2, Figure 3-5, appendices A.2 and A.4.2",
    run=run_of("tammes.papers.robinson_negatives.graphs_hard"),
    data="a folder of data sets of the TU collection, unpacked or as archives: MUTAG, PTC_MR, ENZYMES, "
    "PROTEINS, IMDB-BINARY, IMDB-MULTI, DD, REDDIT-BINARY, or some of them",
)
GRAPHS_AUGMENTED = Entry(
    name="graphs-augmented",
    statement="Hard negatives, and negatives by optimal transport, which the papers try between nodes and "
    "graphs, also help between two augmented views of graphs (GraphCL).",
    source="Robinson (2023), section 3.5.2; Jiang et al. (2023), section VII-B and VII-C; views of You et "
    "al., Graph Contrastive Learning with Augmentations, 2020",
    run=run_of("tammes.papers.robinson_negatives.graphs_augmented"),
    data="a folder of data sets of the TU collection, unpacked or as archives: MUTAG, PTC_MR, ENZYMES, "
    "PROTEINS, IMDB-BINARY, IMDB-MULTI, DD, REDDIT-BINARY, or some of them",
)
GRAPHS_NODES = Entry(
    name="graphs-nodes",
    statement="Hard negatives, and negatives by optimal transport, which the papers try between nodes and "
    "graphs, also help between the nodes of one large graph (GRACE).",
    source="Robinson (2023), section 3.5.2; Jiang et al. (2023), section VII-B and VII-C; views of Zhu et "
    "al., Deep Graph Contrastive Representation Learning, 2020; graph of Karrer and Newman, 2011",
    run=run_of("tammes.papers.robinson_negatives.graphs_nodes"),
)
NEGATIVES_IMAGES = Entry(
    name="negatives-images",
    statement="Hard and transported negatives, debiased, give better representations of images than SimCLR, "
    "where there are many classes: on CIFAR-100 by 2.7 and 2.9 points; and they learn in fewer epochs.",
    source="Robinson (2023), sections 3.5.1 and 3.6, Figures 3-2, 3-4, 3-6 and 3-12, Table 3.1, "
    "appendices A.3.1 and A.4.1; Jiang et al. (2023), section VII, Tables II to IV, Figure 1",
    run=run_of("tammes.papers.robinson_negatives.images"),
    data="a folder of images with a folder for each class, CIFAR-10, CIFAR-100, MNIST or SVHN in their "
    "published files, or a folder with several of these; or digits, or glyphs:N",
    drawn=("digits", "glyphs"),
)
SENTENCES_QUICK_THOUGHTS = Entry(
    name="sentences-quick-thoughts",
    statement="Hard negatives do as well as quick-thoughts, or better, on five of six tasks of sentences, by "
    "up to 2.3 points; with debiasing, they could not be trained.",
    source="Robinson (2023), section 3.5.3, Table 3.2, appendix A.4.3; Logeswaran and Lee, An efficient "
    "framework for learning sentence representations, 2018",
    run=run_of("tammes.papers.robinson_negatives.sentences"),
    data="a folder with two folders, books (plain text in running prose) and tasks (MR, CR, SUBJ, MPQA, TREC "
    "and MSRP as published)",
)
