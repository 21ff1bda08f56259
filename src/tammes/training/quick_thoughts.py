"""Quick-thoughts: the objective on adjacent sentences, and the settings of its training."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tammes.contrast import SupCon
from tammes.correction import Debias
from tammes.coupling import Hard, Uniform
from tammes.encoders import GRUConfig, TransformersConfig, TwoTowersConfig
from tammes.objective import Objective
from tammes.positives import Adjacent
from tammes.training.optimizer import Adam, Cosine

if TYPE_CHECKING:
    from tammes.training.config import TrainingConfig

BATCH, SMALLEST_BATCH = 256, 8
VISITED = 1_000_000
"""Sentences that a training visits, whatever their number."""


def quick_thoughts(temperature: float = 1.0, beta: float = 0.0, class_prior: float = 0.0) -> Objective:
    """Return the objective of quick-thoughts: a sentence finds those around it among all of its batch.

    It is the cross-entropy of a softmax over the inner products with all other sentences, in which the
    sentences around share the target; see `ContextWindow`. The negatives alone are weighted and debiased.

    Args:
        temperature: Divisor of the inner products, which are not brought to unit length.
        beta: Concentration of hard negatives; 0 weighs all negatives alike.
        class_prior: Probability that a negative is a false one, for debiasing; 0 corrects nothing.

    Source: Logeswaran and Lee (2018), sec. 3; Robinson (2023), sec. 3.5.3 and Table 3.2.

    Example:
        >>> quick_thoughts(beta=1.0).coupling
        Hard(beta=1.0, detach=False, clip=None)
    """
    return Objective(
        temperature=temperature,
        coupling=Hard(beta=beta) if beta else Uniform(),
        correction=Debias(class_prior=class_prior) if class_prior else None,
        contrast=SupCon(),
        normalize=False,
    )


def with_adjacent_sentences(config: TrainingConfig, rows: int) -> TrainingConfig:
    """Return the settings of a training on texts with those of quick-thoughts.

    Two gated recurrent networks of 256 units, batches of 256 contiguous sentences, and Adam with a learning
    rate that falls along half a cosine from 1e-3. A training visits about a million sentences. A model of
    transformers keeps batches, epochs and optimizer.

    Args:
        config: settings that suit the texts.
        rows: number of sentences.
    """
    if isinstance(config.encoder, TransformersConfig):
        return replace(config, positives=Adjacent())
    return replace(
        config,
        encoder=TwoTowersConfig(tower=GRUConfig()),
        head=None,
        augmentation=None,
        positives=Adjacent(),
        optimizer=Adam(learning_rate=1e-3, weight_decay=0.0, schedule=Cosine(warmup_epochs=0), clip_norm=5.0),
        batch_size=max(SMALLEST_BATCH, min(BATCH, 2 ** ((rows // 4).bit_length() - 1))),
        epochs=max(1, min(100, round(VISITED / rows))),
    )
