"""Robinson, "Modeling the Geometry of Neural Network Representation Spaces", chapter 4: learned features."""

from tammes.papers.entry import Entry, run_of

DIGITS_OVER = (
    "a folder that holds MNIST's four files and photographs (CIFAR-10, SVHN, or a folder of classes), each "
    "in a folder within it"
)
IMAGES = (
    "CIFAR-10 (cifar-10-binary.tar.gz or cifar-10-batches-bin) or SVHN in their published files, a folder of "
    "images with a folder for each class, or a folder with several of these"
)

FEATURES_TRADE_OFF = Entry(
    name="features-trade-off",
    statement="Lower loss goes with better color and MNIST digits and with worse shape, texture and objects: "
    "the temperature and the hardness of negatives trade features off.",
    source="Robinson (2023), sections 4.2.2 and 4.2.3, Figures 4-2, 4-3, B-3 and B-4",
    run=run_of("tammes.papers.robinson_features.trade_off"),
    data=DIGITS_OVER,
    optional=True,
)

FEATURES_IFM = Entry(
    name="features-ifm",
    statement="Implicit feature modification improves the readout of shape, texture and color, all of them, "
    "at temperatures 0.05, 0.2 and 0.5; over digits it improves that of objects and does not harm the "
    "digits.",
    source="Robinson (2023), section 4.4.1, Figures 4-6 and B-5",
    run=run_of("tammes.papers.robinson_features.ifm"),
    data=DIGITS_OVER,
    optional=True,
)

FEATURES_CLASSIFICATION = Entry(
    name="features-classification",
    statement="Implicit feature modification improves the linear readout of SimCLR and of MoCo on all sets "
    "of images, for every epsilon of 0.05, 0.1 and 0.2; AdCo, another adversarial method, is below it.",
    source="Robinson (2023), section 4.4.2, Figure 4-7, Table 4.1, appendices B.1.1 and B.2.4",
    run=run_of("tammes.papers.robinson_features.classification"),
    data=IMAGES,
)

FEATURES_ROBUST = Entry(
    name="features-robust",
    statement="Implicit feature modification improves the representation of robust features, and that of "
    "features that are not robust stays similar.",
    source="Robinson (2023), section 4.4.3, Figure 4-8, appendix B.2.6",
    run=run_of("tammes.papers.robinson_features.robust"),
    data=IMAGES,
)

FEATURES_ADVERSARIAL = Entry(
    name="features-adversarial",
    statement="Implicit feature modification improves standard accuracy, and takes no more time; ACL(DS), "
    "which attacks the input, improves accuracy under attack, and takes six times as long.",
    source="Robinson (2023), Figure 4-5, appendix B.2.3",
    run=run_of("tammes.papers.robinson_features.adversarial"),
    data=IMAGES,
)

FEATURES_PICTURES = Entry(
    name="features-pictures",
    statement="Moved away from its anchor, a positive becomes an image of another kind; moved towards it, a "
    "negative becomes one like the anchor.",
    source="Robinson (2023), section 4.3.1, Figure 4-4",
    run=run_of("tammes.papers.robinson_features.pictures"),
    data=IMAGES,
)

FEATURES_VOLUMES = Entry(
    name="features-volumes",
    statement="Implicit feature modification improves the prediction of all outcomes from the features of "
    "scans, by regression and by grades.",
    source="Robinson (2023), section 4.4.2, Table 4.2, appendix B.2.5",
    run=run_of("tammes.papers.robinson_features.volumes"),
    data="a folder of volumes (NIfTI or NumPy files) with outcomes.csv in it",
    optional=True,
)
