"""Arms of the study of negatives on images: what is trained, and which settings are searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from tammes import recipes
from tammes.coupling import ExponentialEuclidean, Hard, Transport
from tammes.objective import Objective
from tammes.selection import OtherLabels

UNTRAINED = "untrained"
SIMCLR, DCL, HCL, HCL_OT, ORACLE = "SimCLR", "DCL", "HCL", "HCL-OT", "other labels"
"""Objectives of the papers' tables, HCL and HCL-OT with debiasing, and the oracle that sees the labels."""
HARD, TRANSPORT, EXPONENTIAL = "hard alone", "transport alone", "transport alone, exponential cost"
"""The couplings without debiasing."""
BCL, BCL_HARD, BCL_TRANSPORT = "BCL", "BCL, hard", "BCL, transport"
TRIPLET, TRIPLET_HARD, TRIPLET_TRANSPORT = "triplet", "triplet, hard", "triplet, transport"
SEARCHED = (SIMCLR, DCL, HCL, HCL_OT)
"""Objectives whose settings are searched."""

USUAL = 0.5
"""Temperature of the papers."""
BETA, EPSILON, MARGIN, KAPPA = 1.0, 0.3, 0.5, 1.0
BETAS = (0.5, 1.0, 2.0, 6.0)
KAPPAS = (1.0, 2.0, 3.0)
"""Kappas of HCL-OT with the exponential cost, whose weights depend on epsilon e^kappa alone."""
QUEUED, CHANGES = 4096, 5
OTHER_BATCHES = (16, 64, 1024)
"""Batch sizes beside 256: N = 2 (B - 1) is 30, 126, 510 and 2,046."""
FEW_CLASSES = (10, 30)
RESNET_9, WIDTHS = "ResNet-9, width {}", (8, 16, 32)
"""Name of the small encoder, and its widths."""
EXPONENTIAL_HCL_OT = "HCL-OT, exponential cost, kappa {:g}"
"""HCL-OT with the exponential cost, by kappa. The name holds it, since the columns of a run do not."""


@dataclass(frozen=True, kw_only=True)
class ImageRun:
    """Training of one encoder, with all settings that its score depends on.

    Args:
        data: name of the set of images.
        objective: name of the objective, in `OBJECTIVES`.
        temperature: divisor of the similarities; the triplet loss has none, and 1 here.
        hardness: beta of hard negatives, or epsilon of transported ones; 0 for uniform ones.
        class_prior: probability that a negative is false, for the objectives with debiasing.
        positives: "views" of one image, or of images of the "same class".
        annealing: "none", or beta "falling" or "rising" over the epochs.
        queue: keys from earlier batches, with a momentum encoder; 0 for the batch alone.
        batch_size: pairs of a step.
        classes: number of classes, drawn by the seed.
        images: number of training images.
        epochs: epochs of training; 0 for the untrained encoder.
        encoder: name of the encoder.
        measured_on: "test images", or "validation images" in the search.
        seed: random seed of the images, the weights and the views.
    """

    data: str
    objective: str
    temperature: float
    hardness: float
    class_prior: float
    positives: str = "views"
    annealing: str = "none"
    queue: int = 0
    batch_size: int
    classes: int
    images: int
    epochs: int
    encoder: str
    measured_on: str = "test images"
    seed: int

    @property
    def collision(self) -> float:
        """Probability that a random negative has the anchor's class, for classes of equal size."""
        return 1 / self.classes

    def with_objective(self, name: str, hardness: float = 0.0, temperature: float = USUAL) -> ImageRun:
        """Return the same run with another objective, debiased ones with the class prior of the data."""
        prior = self.collision if name in (DCL, HCL, HCL_OT) else 0.0
        return replace(self, objective=name, hardness=hardness, temperature=temperature, class_prior=prior)

    def among(self, classes: int) -> ImageRun:
        """Return the same run on fewer classes, and with their class prior if it has one."""
        prior = self.class_prior * self.classes / classes
        return replace(self, classes=classes, class_prior=prior)


def _exponential_hcl_ot(kappa: float, run: ImageRun) -> Objective:
    return recipes.hcl_ot(
        temperature=run.temperature,
        epsilon=run.hardness,
        class_prior=run.class_prior,
        cost=ExponentialEuclidean(kappa=kappa),
    )


OBJECTIVES: Mapping[str, Callable[[ImageRun], Objective]] = {
    # The loss of an encoder that is not trained is never computed.
    UNTRAINED: lambda run: recipes.simclr(temperature=run.temperature),
    SIMCLR: lambda run: recipes.simclr(temperature=run.temperature),
    ORACLE: lambda run: recipes.simclr(temperature=run.temperature, selection=OtherLabels()),
    DCL: lambda run: recipes.dcl(temperature=run.temperature, class_prior=run.class_prior),
    HCL: lambda run: recipes.hcl(temperature=run.temperature, beta=run.hardness, class_prior=run.class_prior),
    HCL_OT: lambda run: recipes.hcl_ot(
        temperature=run.temperature, epsilon=run.hardness, class_prior=run.class_prior
    ),
    HARD: lambda run: recipes.hcl(temperature=run.temperature, beta=run.hardness),
    TRANSPORT: lambda run: recipes.hcl_ot(temperature=run.temperature, epsilon=run.hardness),
    EXPONENTIAL: lambda run: recipes.hcl_ot(
        temperature=run.temperature, epsilon=run.hardness, cost=ExponentialEuclidean(kappa=KAPPA)
    ),
    BCL: lambda run: recipes.bcl(temperature=run.temperature),
    BCL_HARD: lambda run: recipes.bcl(temperature=run.temperature, coupling=Hard(beta=run.hardness)),
    BCL_TRANSPORT: lambda run: recipes.bcl(
        temperature=run.temperature, coupling=Transport(epsilon=run.hardness)
    ),
    TRIPLET: lambda run: recipes.triplet(margin=MARGIN),
    TRIPLET_HARD: lambda run: recipes.triplet(margin=MARGIN, coupling=Hard(beta=run.hardness)),
    TRIPLET_TRANSPORT: lambda run: recipes.triplet(margin=MARGIN, coupling=Transport(epsilon=run.hardness)),
    **{EXPONENTIAL_HCL_OT.format(kappa): partial(_exponential_hcl_ot, kappa) for kappa in KAPPAS},
}
"""Objective of a run, by its name."""

READOUT: Mapping[str, Mapping[str, float]] = {
    "CIFAR-100": {SIMCLR: 66.6, DCL: 67.5, HCL: 69.3, HCL_OT: 69.5, HARD: 69.2, TRANSPORT: 69.1,
                  BCL_HARD: 64.8, BCL_TRANSPORT: 67.3},
    "CIFAR-10": {SIMCLR: 91.0, DCL: 91.2, HCL: 92.1, HCL_OT: 91.8, HARD: 91.4, TRANSPORT: 91.2,
                 BCL_HARD: 90.2, BCL_TRANSPORT: 90.8},
    "Tiny-ImageNet": {SIMCLR: 53.4, DCL: 53.7, HCL: 57.0, HARD: 56.1, TRANSPORT: 56.3},
}  # fmt: skip
"""Jiang et al. (2023), Tables II to IV, and of Tiny-ImageNet DCL and HCL by Robinson (2023), Table 3.1.

They are the best of a grid, ResNet-50 after 400 epochs.

CIFAR-100 comes before CIFAR-10, whose name begins likewise.
"""

TEMPERATURES = (USUAL, 0.2, 0.1)
SPACE: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    SIMCLR: {"temperature": (USUAL, 0.05, 0.07, 0.1, 0.14, 0.2, 0.3, 0.7, 1.0)},
    DCL: {"class prior over that of the data": (1.0, 0.5, 2.0), "temperature": TEMPERATURES},
    HCL: {"beta": (BETA, 0.5, 2.0), "temperature": TEMPERATURES},
    HCL_OT: {"epsilon": (EPSILON, 0.1, 0.7), "temperature": TEMPERATURES},
}
"""Searched values of each objective, nine settings each, the usual value of each first."""


def settings_of(name: str, base: ImageRun) -> list[ImageRun]:
    """Return the nine settings of an objective that are searched, the usual one first.

    Args:
        name: objective, one of `SEARCHED`.
        base: run whose other settings they share.
    """
    found = []
    for *more, temperature in product(*SPACE[name].values()):
        hardness = more[0] if more and name != DCL else 0.0
        run = base.with_objective(name, hardness=hardness, temperature=temperature)
        found.append(replace(run, class_prior=more[0] * base.collision) if name == DCL else run)
    return found


def space_in_words() -> dict[str, list[str]]:
    """Return the searched values of each objective, as a page prints them."""
    return {
        objective: [
            "; ".join(
                f"{name} {', '.join(f'{each:g}' for each in sorted(values))}"
                for name, values in space.items()
            )
        ]
        for objective, space in SPACE.items()
    }


def published_readout(data: str) -> Mapping[str, float]:
    """Return the readout of each objective in the papers' tables for a set; nothing for others.

    Args:
        data: name of the set; "CIFAR-100", "cifar100" and "cifar100_32" name one.
    """
    return next((numbers for name, numbers in READOUT.items() if _letters(name) in _letters(data)), {})


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def untrained(base: ImageRun) -> ImageRun:
    """Return the encoder with its first weights."""
    return replace(base, objective=UNTRAINED, epochs=0)


def usual_arms(base: ImageRun) -> dict[str, ImageRun]:
    """Return the arms at the papers' temperature: their tables, and hardness with and without debiasing."""
    return {
        SIMCLR: base.with_objective(SIMCLR),
        DCL: base.with_objective(DCL),
        HCL: base.with_objective(HCL, BETA),
        HCL_OT: base.with_objective(HCL_OT, EPSILON),
        HARD: base.with_objective(HARD, BETA),
        TRANSPORT: base.with_objective(TRANSPORT, EPSILON),
        ORACLE: base.with_objective(ORACLE),
    }


def fewer_classes(base: ImageRun) -> list[int]:
    """Return the numbers of classes below that of the set."""
    return [count for count in FEW_CLASSES if count < base.classes]


def other_batches(base: ImageRun) -> list[int]:
    """Return the batch sizes beside the usual one, up to half of the images."""
    return [size for size in OTHER_BATCHES if size <= base.images // 2 and size != base.batch_size]


def further_arms(base: ImageRun) -> dict[str, ImageRun]:
    """Return the arms of the trends, at the papers' temperature, those of one trend together.

    Args:
        base: run with the usual settings.
    """
    hcl = {beta: base.with_objective(HCL, beta) for beta in BETAS}
    pairs = {SIMCLR: base.with_objective(SIMCLR), HCL: hcl[BETA]}
    arms = {f"{HCL}, beta {beta:g}": run for beta, run in hcl.items() if beta != BETA}
    with_views = {SIMCLR: pairs[SIMCLR], **{f"{HCL}, beta {beta:g}": run for beta, run in hcl.items()}}
    arms |= {
        # A row is in one pair of its class an epoch, so that twice the epochs have as many pairs.
        f"{name}, same class": replace(run, positives="same class", epochs=2 * run.epochs)
        for name, run in with_views.items()
    }
    arms |= {
        f"{HCL}, beta {BETAS[-1]:g}, {way}": replace(hcl[BETAS[-1]], annealing=way)
        for way in ("falling", "rising")
    }
    arms |= {
        f"{name}, {count} classes": run.among(count)
        for count in fewer_classes(base)
        for name, run in pairs.items()
    }
    arms |= {
        f"{name}, {2 * (size - 1):,} negatives": replace(run, batch_size=size)
        for size in other_batches(base)
        for name, run in pairs.items()
    }
    arms[EXPONENTIAL] = base.with_objective(EXPONENTIAL, EPSILON)
    arms |= {
        BCL: base.with_objective(BCL),
        BCL_HARD: base.with_objective(BCL_HARD, BETA),
        BCL_TRANSPORT: base.with_objective(BCL_TRANSPORT, EPSILON),
        TRIPLET: base.with_objective(TRIPLET, temperature=1.0),
        TRIPLET_HARD: base.with_objective(TRIPLET_HARD, BETA, temperature=1.0),
        TRIPLET_TRANSPORT: base.with_objective(TRIPLET_TRANSPORT, EPSILON, temperature=1.0),
    }
    queued = replace(base, queue=QUEUED)
    return arms | {
        "MoCo": queued.with_objective(SIMCLR),
        "MoCo, hard, beta 0.2": queued.with_objective(HARD, 0.2),
        "MoCo, hard, beta 1": queued.with_objective(HARD, BETA),
    }
