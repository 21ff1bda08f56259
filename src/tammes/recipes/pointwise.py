"""Named methods that average or maximize another function of each negative than its exponential."""

from __future__ import annotations

import math

from tammes.contrast import BCL, Hinge, Sigmoid, Softplus, Triplet
from tammes.coupling import Coupling, Hard, Uniform
from tammes.objective import Objective
from tammes.recipes.softmax import debias_of
from tammes.selection import All, Selection


def bcl(
    *,
    temperature: float,
    coupling: Coupling = Uniform(),  # noqa: B008
    class_prior: float = 0.0,
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Return the basic contrastive loss, a difference of mean logits.

        E_w[l_j] - l+ ,    with `Hard` or `Transport` weights as in the paper's tables.

    Args:
        temperature: divisor of the cosine similarities; 1 in the paper.
        coupling: weights of the negatives.
        class_prior: probability tau+ that a candidate is a false negative.
        selection: rule for the negatives.

    Source: Jiang et al. (2023), eq. 9.

    Example:
        >>> bcl(temperature=1.0, coupling=Hard(beta=1.0)).contrast
        BCL()
    """
    return Objective(
        temperature=temperature,
        coupling=coupling,
        selection=selection,
        correction=debias_of(class_prior),
        contrast=BCL(),
    )


def triplet(
    *,
    margin: float,
    coupling: Coupling = Uniform(),  # noqa: B008
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Return the triplet loss on unit vectors, averaged under the coupling.

        max(0, |x - x+|^2 - |x - x_j|^2 + margin)

    Args:
        margin: margin in squared distance; 0.5 is a good start.
        coupling: weights of the negatives.
        selection: rule for the negatives.

    Source: Jiang et al. (2023), sec. IV.

    Example:
        >>> triplet(margin=0.5).temperature
        1.0
    """
    return Objective(temperature=1.0, coupling=coupling, selection=selection, contrast=Triplet(margin=margin))


def hinge(*, selection: Selection = All()) -> Objective:  # noqa: B008
    """Return the hinge loss on raw inner products.

        max(0, 1 + max_j f(x).(f(x_j) - f(x+)))

    Args:
        selection: rule for the negatives; `Subset(k)` decouples their number from the batch.

    Source: Ash et al. (2022), Definition 1.

    Example:
        >>> hinge().contrast
        Hinge(margin=1.0)
    """
    return Objective(temperature=1.0, selection=selection, contrast=Hinge(), normalize=False)


def jsd(
    *,
    beta: float = 0.0,
    class_prior: float = 0.0,
    clip: float = 2.0,
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Return the Jensen-Shannon estimator on raw inner products, with hard negatives.

    Args:
        beta: concentration of the negatives' weights e^{beta l_j}; 1.0 is a good start.
        class_prior: probability tau+ that a candidate is a false negative.
        clip: bound of the logits inside the weights, which are cut to [-clip, clip].
        selection: rule for the negatives.

    Source: Robinson (2023), appendix A.2. Differs: the published code reverses the sign of beta.

    Example:
        >>> jsd(beta=1.0).coupling
        Hard(beta=1.0, detach=False, clip=2.0)
    """
    return Objective(
        temperature=1.0,
        coupling=Hard(beta=beta, clip=clip),
        selection=selection,
        correction=debias_of(class_prior, least_similarity=-math.inf),
        contrast=Softplus(),
        normalize=False,
    )


def sigmoid(
    *,
    temperature: float = 0.1,
    bias: float = -10.0,
    coupling: Coupling = Uniform(),  # noqa: B008
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Return sigmoid contrast: every pair is judged alone.

        softplus(-(l+ + b)) + sum_j softplus(l_j + b)

    Args:
        temperature: divisor of the cosine similarities; learned from 0.1 on in the paper.
        bias: bias b of the logits; learned from -10 on in the paper.
        coupling: weights of the negatives.
        selection: rule for the negatives.

    Source: Zhai et al. (2023), sec. 3.2, there over pairs of images and texts: see `TwoTowers`.

    Example:
        >>> sigmoid().contrast
        Sigmoid(bias=-10.0, weight=None)
    """
    return Objective(
        temperature=temperature, coupling=coupling, selection=selection, contrast=Sigmoid(bias=bias)
    )
