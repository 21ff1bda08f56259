"""Robinson, "The Geometry of Representation Spaces" (2023), chapter 4: which features are learned."""

from tammes.papers.entry import Entry, run_of

FEATURES_VOLUMES = Entry(
    name="features-volumes",
    statement="Implicit feature modification improves the prediction of all outcomes from the features of "
    "scans, by regression and by grades.",
    source="Robinson (2023), section 4.4.2, Table 4.2, appendix B.2.5",
    run=run_of("tammes.papers.robinson_features.volumes"),
    data="a folder of volumes (NIfTI or NumPy files) with outcomes.csv in it",
    optional=True,
)
