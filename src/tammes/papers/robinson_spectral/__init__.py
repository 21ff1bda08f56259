"""Robinson, "Modeling the Geometry of Neural Network Representation Spaces", chapter 7: eigenvectors."""

from tammes.papers.entry import Entry, run_of

SPECTRAL_AUTOMORPHISMS = Entry(
    name="spectral-automorphisms",
    statement="Almost all Erdős–Rényi graphs have no nontrivial automorphism and no repeated eigenvalue, in "
    "contrast to real graphs; under additional conditions an automorphism leads to a repeated eigenvalue.",
    source="Robinson (2023), sections E.3.3 and E.3.4",
    data="a folder with unpacked archives of the TU collection in it (PROTEINS, IMDB-MULTI, COLLAB, COIL-DEL "
    "and others), zinc, or some of them",
    optional=True,
    run=run_of("tammes.papers.robinson_spectral.automorphisms"),
)

SPECTRAL_FILTERS = Entry(
    name="spectral-filters",
    statement="Without message passing, SignNet and BasisNet learn spectral graph convolutions. They beat "
    "the spectral networks GPR-GNN and ARMA on all five filters, says the text; Table E.6 says so but for "
    "SignNet with DeepSets on the high-pass filter, and BasisNet with a Transformer on the low- and "
    "high-pass filters. They outperform all other methods on the band-rejection and comb filters, says the "
    "text; Table E.6 says so but for SignNet with a Transformer on the comb filter.",
    source="Robinson (2023), section E.10.3, Table E.6",
    data="the folder of the 50 images on a grid of 32 by 32 (a .mat file) and of their targets "
    "(labels/y_low.npy and others)",
    run=run_of("tammes.papers.robinson_spectral.filters"),
)

SPECTRAL_MOLECULES = Entry(
    name="spectral-molecules",
    statement="On ZINC-full, a GatedGCN with SignNet on all eigenvectors has a smaller error than all "
    "methods that are not made for molecules; on Alchemy, a GINE with SignNet has the second smallest, "
    "within a standard deviation of the best.",
    source="Robinson (2023), sections 7.3.1 and E.10.2, Tables 7.2 and E.5",
    data="a folder with zinc, which torch_geometric.datasets.ZINC(path, subset=False) has filled, or with "
    "alchemy_full of the TU collection and its index files (train_al_10.index and so on), or with both",
    run=run_of("tammes.papers.robinson_spectral.table_7_2"),
)

SPECTRAL_MULTIPLICITIES = Entry(
    name="spectral-multiplicities",
    statement="Real graphs have repeated eigenvalues: most graphs of most sets do, and their eigenspaces can "
    "be large, so that invariance to signs is not enough.",
    source="Robinson (2023), section E.3.2, Tables E.2 and E.3",
    data="a folder with unpacked archives of the TU collection in it (PROTEINS, IMDB-MULTI, COLLAB, COIL-DEL "
    "and others), zinc, filters, or some of them",
    run=run_of("tammes.papers.robinson_spectral.multiplicities"),
)

SPECTRAL_PROPERTIES = Entry(
    name="spectral-properties",
    statement="Laplacian eigenvectors with random flips do not improve the regression of properties of "
    "graphs; processed by SignNet, they do so significantly.",
    source="Robinson (2023), section 7.3.2, Figure 7-3",
    run=run_of("tammes.papers.robinson_spectral.properties"),
)

SPECTRAL_SUBSTRUCTURES = Entry(
    name="spectral-substructures",
    statement="Laplacian eigenvectors with random flips improve the counting of substructures by a graph "
    "isomorphism network; processed by SignNet, they do so significantly, for all of them.",
    source="Robinson (2023), section 7.3.2, Figure 7-3",
    data="the random graphs with their counts (NAME_parsed.npz) and split (NAME_train.txt, NAME_val.txt, "
    "NAME_test.txt)",
    run=run_of("tammes.papers.robinson_spectral.substructures"),
)

SPECTRAL_TEXTURE = Entry(
    name="spectral-texture",
    statement="A neural field on the eigenfunctions of a mesh learns its texture better when SignNet takes "
    "care of their signs, with no more parameters; with random flips it is far behind.",
    source="Robinson (2023), section 7.3.3, Table 7.3",
    data="a folder with a textured mesh in it: one .obj file with places on a picture, one .png or .jpg, "
    "and, for LPIPS, a network that compares two pictures (.pt2)",
    run=run_of("tammes.papers.robinson_spectral.texture"),
)

SPECTRAL_ZINC = Entry(
    name="spectral-zinc",
    statement="For every base network, encodings by SignNet yield the least error on ZINC, less than "
    "Laplacian eigenvectors with random flips or other choices of signs, and less than no encoding.",
    source="Robinson (2023), sections 7.3.1 and E.10.1, Tables 7.1, 7.2 and E.4",
    data="ZINC 12k: the folder that torch_geometric.datasets.ZINC(path, subset=True) has filled, or one of "
    "zinc_train*.npz, zinc_val*.npz and zinc_test*.npz",
    run=run_of("tammes.papers.robinson_spectral.zinc"),
)
