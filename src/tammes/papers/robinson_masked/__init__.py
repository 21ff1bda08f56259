"""Robinson, "Modeling the Geometry of Neural Network Representation Spaces", chapter 6: masks."""

from tammes.papers.entry import Entry, run_of

IMAGES = (
    "CIFAR-10 (cifar-10-binary.tar.gz or cifar-10-batches-bin) or SVHN in their published files, a folder of "
    "images with a folder for each class, or a folder with several of these"
)

MASKED_METHODS = Entry(
    name="masked-methods",
    statement="CAN is above SimCLR and MAE in linear readout and after fine-tuning, after as many epochs and "
    "after as many operations, of which SimCLR takes 70 % more.",
    source="Robinson (2023), section 6.3, Figure 6-1, Tables 6.1 and 6.2, appendix D.3",
    run=run_of("tammes.papers.robinson_masked.methods"),
    data=IMAGES,
)

MASKED_TERMS = Entry(
    name="masked-terms",
    statement="Each of CAN's three terms adds to the linear readout, the contrast most; noise helps, and "
    "denoising helps further if the decoder gets the level of the noise.",
    source="Robinson (2023), section 6.4, Tables 6.4 and 6.5",
    run=run_of("tammes.papers.robinson_masked.terms"),
    data=IMAGES,
)

MASKED_LOSSES = Entry(
    name="masked-losses",
    statement="Contrast and reconstruction complement each other: trained together, both losses are lower "
    "than each is alone.",
    source="Robinson (2023), section 6.4, Table 6.3",
    run=run_of("tammes.papers.robinson_masked.losses"),
    data=IMAGES,
)

MASKED_SETTINGS = Entry(
    name="masked-settings",
    statement="SimCLR becomes worse with the masking rate, CAN is best between 0 and 0.75; a small weight of "
    "the contrast is best, many levels of noise help, and the weight of the denoising hardly matters.",
    source="Robinson (2023), section 6.4, Figures 6-6 and 6-7",
    run=run_of("tammes.papers.robinson_masked.settings"),
    data=IMAGES,
)

MASKED_FEW_SHOT = Entry(
    name="masked-few-shot",
    statement="With 10 and 25 images of a class, frozen features of CAN are above those of SimCLR and MAE.",
    source="Robinson (2023), section 6.3.4, Figures 6-4 and D-3 to D-9",
    run=run_of("tammes.papers.robinson_masked.few_shot"),
    data=IMAGES,
)

MASKED_ROBUSTNESS = Entry(
    name="masked-robustness",
    statement="After fine-tuning CAN is more robust than SimCLR and MAE to nearly all shifts of the images.",
    source="Robinson (2023), section 6.3.5, Figures 6-5, D-1, D-2 and D-8",
    run=run_of("tammes.papers.robinson_masked.robustness"),
    data=IMAGES,
)
