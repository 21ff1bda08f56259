"""Ash et al., "Investigating the Role of Negatives in Contrastive Representation Learning"."""

from tammes.papers.entry import Entry, run_of

NEGATIVES_BOUNDS = Entry(
    name="negatives-bounds",
    statement="The bound on the supervised loss falls with the number of negatives until it covers the "
    "classes, and then rises with collisions; there are representations of which few negatives, and very "
    "many, choose the worse.",
    source="Ash, Goel, Krishnamurthy and Misra, Investigating the Role of Negatives in Contrastive "
    "Representation Learning, arXiv:2106.09943, section 3, Fig. 1 and 2, appendix C",
    run=run_of("tammes.papers.ash.bounds"),
)

NEGATIVES_TEXT = Entry(
    name="negatives-text",
    statement="For a given number of classes, accuracy improves with the number of negatives and then slowly "
    "decays; the optimal number increases with the number of classes. Removing collisions helps, most where "
    "classes are few. Batch size and number of negatives play different roles: the largest batch is best, "
    "with an intermediate number of negatives.",
    source="Ash, Goel, Krishnamurthy and Misra, Investigating the Role of Negatives in Contrastive "
    "Representation Learning, arXiv:2106.09943, section 4, Fig. 3, 5, 6 and 7, Table 1",
    run=run_of("tammes.papers.ash.text"),
    data="documents with many sentences each, a sentence a line: a folder with a text file for each "
    "(Wiki-3029), or a table",
)

NEGATIVES_VISION = Entry(
    name="negatives-vision",
    statement="With augmented positives, accuracy tends to improve with batch size and with the number of "
    "negatives. With real positives it hardly depends on either on SVHN, and on CIFAR-10 it tends to "
    "increase as the batch gets smaller.",
    source="Ash, Goel, Krishnamurthy and Misra, Investigating the Role of Negatives in Contrastive "
    "Representation Learning, arXiv:2106.09943, section 4, Fig. 4 and 8, Table 2",
    run=run_of("tammes.papers.ash.vision"),
    data="CIFAR-10 (cifar-10-binary.tar.gz or cifar-10-batches-bin), and SVHN (train_32x32.mat, "
    "test_32x32.mat) or MNIST (its four idx files) in its place",
)

SENTENCES_NEGATIVES = Entry(
    name="sentences-negatives",
    statement="Accuracy improves with the number of negatives until they collide with the class of their "
    "anchor, and then slowly decays: here for adjacent sentences, whose usual batch is a run of one "
    "document, so that nearly all negatives collide.",
    source="Ash, Goel, Krishnamurthy and Misra, Investigating the Role of Negatives in Contrastive "
    "Representation Learning, arXiv:2106.09943, sections 3 and 4; Robinson (2023), section 3.5.3, Table 3.2",
    run=run_of("tammes.papers.ash.sentences"),
    data="a folder with two folders, books (plain text in running prose, a document a file) and tasks (MR, "
    "CR, SUBJ, MPQA, TREC and MSRP as published)",
)
