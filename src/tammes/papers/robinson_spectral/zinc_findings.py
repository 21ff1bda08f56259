"""What the experiments on molecules found, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from statistics import mean, stdev
from typing import NamedTuple

from tammes.papers.page import Finding
from tammes.papers.robinson_spectral.zinc_training import (
    ABSOLUTE,
    CANONICAL,
    FLIPS,
    GAT,
    GATED,
    GIN,
    GINE,
    NONE,
    ONE_SIGN,
    PNA,
    SIGNNET,
    TRANSFORMER,
    Cell,
    Measured,
)

Setting = tuple[str, str, int]
"""A base network, an encoding, and how many eigenvectors; 0 for all."""
MAIN: Sequence[Setting] = ((GATED, NONE, 0), (GATED, FLIPS, 8), (GATED, SIGNNET, 8))
"""What the paper's main statement is about."""
ABLATION: tuple[Setting, Setting] = ((GATED, ONE_SIGN, 8), (GATED, SIGNNET, 8))
"""SignNet without and with the other sign."""
PAPER: Mapping[Setting, tuple[float, float]] = {
    (GATED, NONE, 0): (0.252, 0.007),
    (GATED, FLIPS, 8): (0.198, 0.011),
    (GATED, SIGNNET, 8): (0.121, 0.005),
    (GATED, SIGNNET, 0): (0.100, 0.007),
    (GATED, ONE_SIGN, 8): (0.148, 0.007),
    (GATED, ABSOLUTE, 8): (0.204, 0.009),
    (GATED, CANONICAL, 8): (0.298, 0.019),
    (GINE, NONE, 0): (0.170, 0.002),
    (GINE, FLIPS, 16): (0.178, 0.004),
    (GINE, SIGNNET, 16): (0.147, 0.005),
    (GINE, SIGNNET, 0): (0.102, 0.002),
    (TRANSFORMER, NONE, 0): (0.283, 0.030),
    (TRANSFORMER, FLIPS, 16): (0.223, 0.007),
    (TRANSFORMER, SIGNNET, 16): (0.115, 0.008),
    (TRANSFORMER, SIGNNET, 0): (0.102, 0.005),
    (PNA, NONE, 0): (0.133, 0.011),
    (PNA, FLIPS, 8): (0.132, 0.010),
    (PNA, SIGNNET, 8): (0.105, 0.007),
    (PNA, SIGNNET, 0): (0.084, 0.006),
    (GIN, NONE, 0): (0.348, 0.014),
    (GIN, FLIPS, 16): (0.341, 0.011),
    (GIN, SIGNNET, 16): (0.238, 0.012),
    (GAT, NONE, 0): (0.464, 0.011),
    (GAT, FLIPS, 16): (0.462, 0.013),
    (GAT, SIGNNET, 16): (0.243, 0.008),
}
"""Tables 7.1 and E.4, mean and standard deviation over 4 seeds; Table 7.2 repeats the one of PNA."""


class Errors(NamedTuple):
    """Test errors over seeds; the deviation is 0 where there is one seed."""

    mean: float
    deviation: float
    seeds: int


def findings(results: Mapping[Cell, Measured]) -> tuple[Finding, ...]:
    """The paper's statements beside our numbers."""
    ours = summary(results)
    return (*_with_gated_gcn(results, ours), *_with_others(ours))


def _with_gated_gcn(results: Mapping[Cell, Measured], ours: Mapping[Setting, Errors]) -> list[Finding]:
    found = []
    if all(setting in ours for setting in MAIN):
        none, flips, signnet = (ours[setting] for setting in MAIN)
        gain, unsure = _gain(results, MAIN[0], MAIN[1])
        found += [
            Finding(
                paper="With GatedGCN and 8 eigenvectors, SignNet (0.121) is better than LapPE with flips "
                "(0.198) and than no encoding (0.252).",
                ours=f"SignNet {_words(signnet)}, LapPE with flips {_words(flips)}, none {_words(none)}.",
                agrees=signnet.mean < min(flips.mean, none.mean),
            ),
            Finding(
                paper="LapPE with flips is better than no encoding.",
                ours=f"With flips the error is less than without an encoding by {_told(gain, unsure)}",
                agrees=gain > 2 * unsure,
            ),
        ]
    if all(setting in ours for setting in ABLATION):
        one_sign, signnet = (ours[setting] for setting in ABLATION)
        gain, unsure = _gain(results, *ABLATION)
        found.append(
            Finding(
                paper="SignNet (0.121) is better than the same network with φ(v) only (0.148), for which "
                "signs matter.",
                ours=f"With φ(v) only {_words(one_sign)}; SignNet's error is less by {_told(gain, unsure)}",
                agrees=gain > 2 * unsure,
            )
        )
    return found


def _with_others(ours: Mapping[Setting, Errors]) -> list[Finding]:
    better, compared = [], []
    for base in (GINE, TRANSFORMER, PNA, GIN, GAT):
        own = {setting: ours[setting].mean for setting in ours if setting[0] == base}
        signed = [error for (_, encoding, _), error in own.items() if encoding == SIGNNET]
        others = [error for (_, encoding, _), error in own.items() if encoding != SIGNNET]
        if signed and others:
            compared.append(base)
            if min(signed) < min(others):
                better.append(base)
    if not compared:
        return []
    return [
        Finding(
            paper="For all base networks, SignNet yields the least error.",
            ours=f"SignNet has the least error for {len(better)} of {len(compared)} further base networks "
            f"({'; '.join(compared)}).",
            agrees=len(better) == len(compared),
        )
    ]


def summary(results: Mapping[Cell, Measured]) -> dict[Setting, Errors]:
    """Mean, standard deviation and number of seeds of the test errors, in the order of the paper's table."""
    tests: dict[Setting, list[float]] = {}
    for cell, measured in results.items():
        tests.setdefault((cell.base, cell.encoding, cell.eigenvectors), []).append(measured.test)
    return {
        setting: Errors(
            mean=mean(tests[setting]),
            deviation=stdev(tests[setting]) if len(tests[setting]) > 1 else 0.0,
            seeds=len(tests[setting]),
        )
        for setting in PAPER
        if setting in tests
    }


def _gain(results: Mapping[Cell, Measured], one: Setting, other: Setting) -> tuple[float, float]:
    """How much less the second's error is on equal seeds, and the standard error of that mean."""
    more, less = (
        {
            cell.seed: measured.test
            for cell, measured in results.items()
            if (cell.base, cell.encoding, cell.eigenvectors) == setting
        }
        for setting in (one, other)
    )
    gains = [more[seed] - less[seed] for seed in more.keys() & less.keys()]
    return mean(gains), stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else inf


def _told(gain: float, unsure: float) -> str:
    if unsure == inf:
        return f"{gain:.3f} on one and the same seed, which is no evidence."
    chance = "" if gain > 2 * unsure else ", which is not clear of chance"
    return f"{gain:.3f} ± {unsure:.3f} on the same seeds{chance}."


def _words(error: Errors) -> str:
    if error.seeds == 1:
        return f"{error.mean:.3f} (one seed)"
    return f"{error.mean:.3f} ± {error.deviation:.3f} ({error.seeds} seeds)"
