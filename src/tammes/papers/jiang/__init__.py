"""Jiang, Ishwar and Aeron, "Hard Negative Sampling via Regularized Optimal Transport"."""

from tammes.papers.entry import Entry, run_of

TRANSPORT_DEGENERACY = Entry(
    name="transport-degeneracy",
    statement="If negatives are the worst that marginal constraints allow, a constant map is optimal: the "
    "min-max value of E[f(x)·f(x⁻) − f(x)·f(x⁺)] is 0 and that of the loss is ψ(0, …, 0). Regularizing the "
    "coupling, by entropy and without self-coupling, is meant to preclude this.",
    source="Jiang, Ishwar and Aeron, Hard Negative Sampling via Regularized Optimal Transport for "
    "Contrastive Representation Learning, arXiv:2111.03169, Lemma 2, Theorem 1, Section VI",
    run=run_of("tammes.papers.jiang.transport_degeneracy"),
)

GRAPHS_TRANSPORT = Entry(
    name="graphs-transport",
    statement="On graphs, negatives by entropic optimal transport are consistently better than InfoGraph's "
    "uniform ones, and match or slightly exceed hard negatives (HCL).",
    source="Jiang, Ishwar and Aeron, Hard Negative Sampling via Regularized Optimal Transport for "
    "Contrastive Representation Learning, arXiv:2111.03169, Table V, Section VII-B and VII-C",
    run=run_of("tammes.papers.jiang.graphs_transport"),
    data="a folder of data sets of the TU collection, unpacked or as archives: MUTAG, ENZYMES, PTC_MR, "
    "IMDB-BINARY, IMDB-MULTI, or some of them",
)
