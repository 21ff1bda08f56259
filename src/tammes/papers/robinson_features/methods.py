"""Methods that the studies of features train: hosts, feature modification in its forms, and its rivals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tammes import recipes
from tammes.objective import Objective
from tammes.papers import arms
from tammes.perturbation import BeforeNormalization, ModificationForm, Renormalized, Shifted
from tammes.sources import InBatch
from tammes.training import InputAttack, LearnedNegativesConfig, QueueConfig

UNTRAINED, SIMCLR, HARD, IFM = arms.UNTRAINED, "SimCLR", "hard negatives", "IFM"
MOCO, MOCO_IFM = "MoCo", "IFM-MoCo"
WORST, MOCO_WORST = "L_epsilon", "L_epsilon-MoCo"
RENORMALIZED, BEFORE = "IFM-MoCo + norm", "IFM-MoCo + pre-norm"
USUAL = 0.5
"""Temperature "unless stated otherwise" (B.2.2), and of SimCLR in B.2.4."""
MOCO_TEMPERATURE, MOMENTUM, QUEUED = 0.1, 0.99, 4096
"""B.2.4, but for the momentum, which is that of ImageNet100 there."""


@dataclass(frozen=True, kw_only=True)
class FeatureRun:
    """Training of one encoder, with all settings that its score depends on.

    Args:
        data: name of the set of images.
        method: name of the method, in `METHODS`.
        temperature: divisor of the similarities.
        beta: concentration of hard negatives; 0 for uniform ones.
        epsilon: radius of implicit feature modification, in similarity; 0 for none.
        alpha: weight of the loss on modified features.
        queue: negatives beside the batch, with a momentum encoder; 0 for the batch alone.
        images: number of training images.
        epochs: epochs of training; 0 for the untrained encoder.
        batch_size: pairs of a step.
        encoder: name of the encoder.
        seed: random seed of the images, the weights and the views.
    """

    data: str
    method: str
    temperature: float = USUAL
    beta: float = 0.0
    epsilon: float = 0.0
    alpha: float = 1.0
    queue: int = 0
    images: int
    epochs: int
    batch_size: int
    encoder: str
    seed: int

    @property
    def arm(self) -> str:
        """The method with its settings, without the seed."""
        if self.method == UNTRAINED:
            return UNTRAINED
        return arm_of(self.method, temperature=self.temperature, beta=self.beta, epsilon=self.epsilon)


def arm_of(method: str, *, temperature: float = USUAL, beta: float = 0.0, epsilon: float = 0.0) -> str:
    """Return the name of a method with its settings; those that are 0 are left out."""
    parts = [method, f"temperature {temperature:g}"]
    parts += [f"beta {beta:g}"] if beta else []
    parts += [f"epsilon {epsilon:g}"] if epsilon else []
    return ", ".join(parts)


def _contrast(run: FeatureRun) -> Objective:
    return recipes.simclr(temperature=run.temperature)


def _queue(run: FeatureRun) -> InBatch | QueueConfig:
    return QueueConfig(size=run.queue, momentum=MOMENTUM) if run.queue else InBatch()


@dataclass(frozen=True, kw_only=True)
class Method:
    """Parts of a training that differ from method to method.

    Args:
        objective: function from a run to its objective.
        negatives: function from a run to its negatives.
        attack: attack on the images, None for none.
    """

    objective: Callable[[FeatureRun], Objective] = _contrast
    negatives: Callable[[FeatureRun], InBatch | QueueConfig | LearnedNegativesConfig] = _queue
    attack: InputAttack | None = None


def modified(*, form: ModificationForm = Shifted(), alone: bool = False) -> Method:  # noqa: B008
    """Return feature modification in one of its forms.

    Args:
        form: how embeddings move.
        alone: whether the loss is that of the modified features alone, L_epsilon.
    """

    def objective(run: FeatureRun) -> Objective:
        alpha = math.inf if alone else run.alpha
        return recipes.ifm(temperature=run.temperature, epsilon=run.epsilon, alpha=alpha, form=form)

    return Method(objective=objective)


def learned_negatives(rate: float) -> Method:
    """Return AdCo with a learning rate of its negatives; at 3 it is the published one."""
    return Method(
        negatives=lambda run: LearnedNegativesConfig(size=run.queue, momentum=MOMENTUM, learning_rate=rate)
    )


def mixed(hardest: int) -> Method:
    """Return MoCHi with mixtures of a number of hardest negatives; 1,024 is the published one.

    The published 1,024 mixtures of two negatives and 128 with the anchor are for longer queues; here there
    are an eighth of both.
    """
    return Method(
        objective=lambda run: recipes.mochi(
            temperature=run.temperature, hardest=hardest, pairs=128, with_anchor=16
        )
    )


def attacked(radius: int) -> Method:
    """Return ACL(DS) with the radius of its attack in 255ths, the published one 8, and steps of a quarter."""
    return Method(attack=InputAttack(radius=radius / 255, step=radius / 4 / 255))


RATES, HARDEST, ATTACKED = (3.0, 0.3, 0.03), (1024, 256, 64), (8, 4, 2)
"""Values of the one setting of each rival that varies, the published one first."""
ADCO = tuple(f"AdCo, rate {rate:g}" for rate in RATES)
MOCHI = tuple(f"MoCHi, hardest {hardest}" for hardest in HARDEST)
ACL = tuple(f"ACL, radius {radius}/255" for radius in ATTACKED)
IN_TIME = " in equal time"
"""End of the name of a method that has fewer epochs, since its steps take longer than its host's."""

METHODS: Mapping[str, Method] = {
    UNTRAINED: Method(),  # The loss of an encoder that is not trained is never computed.
    SIMCLR: Method(),
    HARD: Method(objective=lambda run: recipes.hcl(temperature=run.temperature, beta=run.beta)),
    IFM: modified(),
    MOCO: Method(),
    MOCO_IFM: modified(),
    WORST: modified(alone=True),
    MOCO_WORST: modified(alone=True),
    RENORMALIZED: modified(form=Renormalized()),
    BEFORE: modified(form=BeforeNormalization()),
    **dict(zip(ADCO, map(learned_negatives, RATES), strict=True)),
    **dict(zip(MOCHI, map(mixed, HARDEST), strict=True)),
    **dict(zip(ACL, map(attacked, ATTACKED), strict=True)),
}
"""Method of a run, by its name."""


def method_of(run: FeatureRun) -> Method:
    """Return the method of a run."""
    return METHODS[run.method.removesuffix(IN_TIME)]
