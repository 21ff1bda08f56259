"""Table 4.2 of the thesis: outcomes predicted from scans of COPDGene, with deviations over five folds."""

COPDGENE = "COPDGene (the thesis; another set)"

_MEASURES = (
    *("log FEV1pp, R^2", "log FEV1/FVC, R^2"),
    *("CLE, accuracy %", "CLE, 1-off %", "para-septal, accuracy %", "para-septal, 1-off %"),
    *("mMRC, accuracy %", "mMRC, 1-off %"),
)
# Mean and standard deviation of each measure, in turn.
_ROWS = {
    "Sun et al. (2021)": "0.566 0.005 0.661 0.005 49.6 0.4 81.8 0.5 55.7 0.3 84.4 0.2 50.4 0.5 72.5 0.3",
    "L_epsilon, 0.1": "0.591 0.008 0.681 0.008 49.4 0.4 81.9 0.3 55.6 0.3 85.1 0.2 50.3 0.8 72.7 0.4",
    "IFM, epsilon 0.1": "0.615 0.005 0.691 0.006 48.2 0.8 80.6 0.4 55.3 0.4 84.7 0.3 50.4 0.5 72.8 0.2",
    "IFM, epsilon 0.2": "0.595 0.006 0.683 0.006 48.5 0.6 80.5 0.6 55.3 0.3 85.1 0.1 49.8 0.8 72.0 0.3",
    "IFM, epsilon 0.5": "0.607 0.006 0.683 0.005 49.6 0.4 82.0 0.3 54.9 0.2 84.7 0.2 50.6 0.4 73.1 0.2",
    "IFM, epsilon 1.0": "0.583 0.005 0.675 0.006 50.0 0.5 82.9 0.4 56.3 0.6 85.7 0.2 50.3 0.6 71.9 0.3",
}
TABLE_4_2 = tuple(
    (arm, measure, f"{mean} (sd {deviation})")
    for arm, numbers in _ROWS.items()
    for measure, mean, deviation in zip(_MEASURES, numbers.split()[::2], numbers.split()[1::2], strict=True)
)
"""Arm, measure and value of each cell."""
