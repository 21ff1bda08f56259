"""Named methods. Each is nothing but a constructor that fills in the parts of an `Objective`."""

from __future__ import annotations

import math

from tammes.contrast import BCL, Hinge, Logistic, Softplus, Triplet
from tammes.correction import Debias
from tammes.coupling import Cost, Coupling, Hard, SquaredEuclidean, Transport, Uniform
from tammes.objective import Objective
from tammes.perturbation import FeatureModification
from tammes.selection import All, Selection


def simclr(*, temperature: float, selection: Selection = All()) -> Objective:  # noqa: B008
    """NT-Xent: InfoNCE against all other rows of the batch.

    -log( e^{l+} / (e^{l+} + sum_j e^{l_j}) ), over the 2B - 2 negatives of two views of B rows.

    Args:
        temperature: divides cosine similarities.
        selection: who may be a negative.

    Source: Chen et al. (2020), eq. 1; Robinson (2023), eq. 3.1 with Q = N.

    Example:
        >>> simclr(temperature=0.5).contrast
        InfoNCE(weight=None, limit=False)
    """
    return Objective(temperature=temperature, selection=selection)


def dcl(*, temperature: float, class_prior: float, selection: Selection = All()) -> Objective:  # noqa: B008
    """The debiased contrastive loss: false negatives are taken out of the mean over negatives.

    Args:
        temperature: divides cosine similarities.
        class_prior: tau+, the probability that a candidate is a false negative.
        selection: who may be a negative.

    Source: Robinson (2023), eq. 3.7-3.8, after Chuang et al. (2020).

    Example:
        >>> dcl(temperature=0.5, class_prior=0.1).correction
        Debias(class_prior=0.1, least_similarity=-1.0)
    """
    return Objective(temperature=temperature, selection=selection, correction=Debias(class_prior=class_prior))


def hcl(
    *,
    temperature: float,
    beta: float,
    class_prior: float = 0.0,
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Hard negatives, debiased: weights proportional to e^{beta l_j}.

    Args:
        temperature: divides cosine similarities.
        beta: concentration; multiplies the logit inside the weights.
        class_prior: tau+, the probability that a candidate is a false negative.
        selection: who may be a negative.

    Source: Robinson (2023), eq. 3.10-3.12.

    Example:
        >>> hcl(temperature=0.5, beta=1.0, class_prior=0.1).coupling
        Hard(beta=1.0, detach=False, clip=None)
    """
    return Objective(
        temperature=temperature,
        coupling=Hard(beta=beta),
        selection=selection,
        correction=_debias(class_prior),
    )


def hcl_ot(
    *,
    temperature: float,
    epsilon: float,
    class_prior: float = 0.0,
    cost: Cost = SquaredEuclidean(),  # noqa: B008
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Hard negatives by entropy-regularized optimal transport, debiased.

    Args:
        temperature: divides cosine similarities.
        epsilon: weight of the entropy, in the unit of the cost; small is hard.
        class_prior: tau+, the probability that a candidate is a false negative.
        cost: ground cost as a function of the similarity.
        selection: who may be a negative.

    Source: Jiang et al. (2023), eq. 5 and 8.

    Example:
        >>> hcl_ot(temperature=0.5, epsilon=0.3).coupling.cost
        SquaredEuclidean()
    """
    return Objective(
        temperature=temperature,
        coupling=Transport(epsilon=epsilon, cost=cost),
        selection=selection,
        correction=_debias(class_prior),
    )


def bcl(
    *,
    temperature: float,
    coupling: Coupling = Uniform(),  # noqa: B008
    class_prior: float = 0.0,
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """The basic contrastive loss E_w[l_j] - l+; with `Hard` or `Transport` weights as in the paper's tables.

    Args:
        temperature: divides cosine similarities; the paper's is 1.
        coupling: how the negatives are weighted.
        class_prior: tau+, the probability that a candidate is a false negative.
        selection: who may be a negative.

    Source: Jiang et al. (2023), eq. 9.

    Example:
        >>> bcl(temperature=1.0, coupling=Transport(epsilon=0.3)).contrast
        BCL()
    """
    return Objective(
        temperature=temperature,
        coupling=coupling,
        selection=selection,
        correction=_debias(class_prior),
        contrast=BCL(),
    )


def triplet(
    *,
    margin: float,
    coupling: Coupling = Uniform(),  # noqa: B008
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """max(0, |x - x+|^2 - |x - x_j|^2 + margin) on unit vectors, averaged under the coupling.

    Args:
        margin: in squared distance.
        coupling: how the negatives are weighted.
        selection: who may be a negative.

    Source: Jiang et al. (2023), sec. IV.

    Example:
        >>> triplet(margin=0.5).temperature
        1.0
    """
    return Objective(temperature=1.0, coupling=coupling, selection=selection, contrast=Triplet(margin=margin))


def logistic(
    *,
    weight: float | None = None,
    coupling: Coupling = Uniform(),  # noqa: B008
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """log(1 + (q/m) sum_j e^{f(x).(f(x_j) - f(x+))}) on raw inner products.

    Args:
        weight: q; None takes the number of negatives, log(1 + sum_j e^{-v_j}).
        coupling: how the negatives are weighted.
        selection: who may be a negative; `Subset(k)` decouples their number from the batch.

    Source: Ash et al. (2022), Definition 1; Jiang et al. (2023), eq. 1.

    Example:
        >>> logistic().normalize
        False
    """
    return Objective(
        temperature=1.0,
        coupling=coupling,
        selection=selection,
        contrast=Logistic(weight=weight),
        normalize=False,
    )


def hinge(*, selection: Selection = All()) -> Objective:  # noqa: B008
    """max(0, 1 + max_j f(x).(f(x_j) - f(x+))) on raw inner products.

    Args:
        selection: who may be a negative; `Subset(k)` decouples their number from the batch.

    Source: Ash et al. (2022), Definition 1.

    Example:
        >>> hinge().contrast
        Hinge(margin=1.0)
    """
    return Objective(temperature=1.0, selection=selection, contrast=Hinge(), normalize=False)


def ifm(
    *,
    temperature: float,
    epsilon: float,
    alpha: float = 1.0,
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Implicit feature modification: NT-Xent and its worst case in an epsilon-ball, averaged.

    Args:
        temperature: divides cosine similarities.
        epsilon: radius of the ball, in similarity.
        alpha: weight of the worst case.
        selection: who may be a negative.

    Source: Robinson (2023), Definition 2 and eq. 4.2.

    Example:
        >>> ifm(temperature=0.5, epsilon=0.1).perturbation
        FeatureModification(epsilon=0.1, alpha=1.0)
    """
    return Objective(
        temperature=temperature,
        selection=selection,
        perturbation=FeatureModification(epsilon=epsilon, alpha=alpha),
    )


def jsd(
    *,
    beta: float = 0.0,
    class_prior: float = 0.0,
    clip: float = 2.0,
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """The Jensen-Shannon estimator on raw inner products, with hard negatives: softplus on either side.

    Args:
        beta: concentration of the negatives' weights e^{beta l_j}.
        class_prior: tau+, the probability that a candidate is a false negative.
        clip: inside the weights, logits are cut to [-clip, clip].
        selection: who may be a negative.

    Source: Robinson (2023), appendix A.2. Differs: the published code reverses the sign of beta.

    Example:
        >>> jsd(beta=1.0).coupling
        Hard(beta=1.0, detach=False, clip=2.0)
    """
    return Objective(
        temperature=1.0,
        coupling=Hard(beta=beta, clip=clip),
        selection=selection,
        correction=_debias(class_prior, least_similarity=-math.inf),
        contrast=Softplus(),
        normalize=False,
    )


def _debias(class_prior: float, least_similarity: float = -1.0) -> Debias | None:
    """No correction where there is nothing to correct, so that `repr` shows what is really there."""
    if class_prior == 0:
        return None
    return Debias(class_prior=class_prior, least_similarity=least_similarity)
