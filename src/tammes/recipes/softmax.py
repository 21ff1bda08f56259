"""Named methods whose negatives enter as a mean of exponentials: InfoNCE and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor

from tammes.contrast import InfoNCE, Logistic, SupCon
from tammes.correction import Debias
from tammes.coupling import Cost, Coupling, Hard, SquaredEuclidean, Transport, Uniform
from tammes.mixing import HardMixing
from tammes.objective import Objective
from tammes.perturbation import FeatureModification, ModificationForm, Shifted
from tammes.selection import All, Selection


def simclr(*, temperature: float, selection: Selection = All()) -> Objective:  # noqa: B008
    """Return NT-Xent, InfoNCE against all other rows of the batch.

    -log( e^{l+} / (e^{l+} + sum_j e^{l_j}) ), over the 2B - 2 negatives of two views of B rows.

    Args:
        temperature: divisor of the cosine similarities; 0.2 is a good start for images, 0.1 for texts.
        selection: rule for the negatives.

    Source: Chen et al. (2020), eq. 1; Robinson (2023), eq. 3.1 with Q = N.

    Example:
        >>> simclr(temperature=0.5).contrast
        InfoNCE(weight=None, limit=False)
    """
    return Objective(temperature=temperature, selection=selection)


def dcl(*, temperature: float, class_prior: float, selection: Selection = All()) -> Objective:  # noqa: B008
    """Return the debiased contrastive loss: false negatives are subtracted from the mean over negatives.

    Args:
        temperature: divisor of the cosine similarities; 0.2 is a good start for images, 0.1 for texts.
        class_prior: probability tau+ that a candidate is a false negative; 0.1 for ten classes, equally
            likely.
        selection: rule for the negatives.

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
    """Return the loss on hard negatives, debiased: weights proportional to e^{beta l_j}.

    Args:
        temperature: divisor of the cosine similarities; 0.2 is a good start for images, 0.1 for texts.
        beta: concentration, a factor of the logit inside the weights; 1.0 is a good start.
        class_prior: probability tau+ that a candidate is a false negative.
        selection: rule for the negatives.

    Source: Robinson (2023), eq. 3.10-3.12.

    Example:
        >>> hcl(temperature=0.5, beta=1.0, class_prior=0.1).coupling
        Hard(beta=1.0, detach=False, clip=None)
    """
    return Objective(
        temperature=temperature,
        coupling=Hard(beta=beta),
        selection=selection,
        correction=debias_of(class_prior),
    )


def hcl_ot(
    *,
    temperature: float,
    epsilon: float,
    class_prior: float = 0.0,
    cost: Cost | Callable[[Tensor], Tensor] = SquaredEuclidean(),  # noqa: B008
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Return the loss on negatives weighted by entropy-regularized optimal transport, debiased.

    Args:
        temperature: divisor of the cosine similarities; 0.2 is a good start for images, 0.1 for texts.
        epsilon: weight of the entropy, in the unit of the cost; small is hard, 0.3 a good start.
        class_prior: probability tau+ that a candidate is a false negative.
        cost: ground cost, a `Cost` or a function that maps similarities to costs entry by entry.
        selection: rule for the negatives.

    Source: Jiang et al. (2023), eq. 5 and 8.

    Example:
        >>> hcl_ot(temperature=0.5, epsilon=0.3).coupling.cost
        SquaredEuclidean()
    """
    return Objective(
        temperature=temperature,
        coupling=Transport(epsilon=epsilon, cost=cost),
        selection=selection,
        correction=debias_of(class_prior),
    )


def ifm(
    *,
    temperature: float,
    epsilon: float,
    alpha: float = 1.0,
    divisor: float | None = None,
    form: ModificationForm = Shifted(),  # noqa: B008
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Return implicit feature modification: NT-Xent and its worst case in an epsilon-ball, averaged.

    Args:
        temperature: divisor of the cosine similarities; 0.2 is a good start for images, 0.1 for texts.
        epsilon: radius of the ball, in similarity; 0.1 is a good start.
        alpha: weight of the worst case; infinity takes it alone.
        divisor: number by which the sum of both is divided; None for 1 + alpha.
        form: form of the move: within the ball, at unit length again, or before normalization.
        selection: rule for the negatives.

    Source: Robinson (2023), Definition 2 and eq. 4.2; appendix B.1.1 for the forms.

    Example:
        >>> ifm(temperature=0.5, epsilon=0.1).perturbation
        FeatureModification(epsilon=0.1, alpha=1.0, divisor=None, form=Shifted())
    """
    return Objective(
        temperature=temperature,
        selection=selection,
        perturbation=FeatureModification(epsilon=epsilon, alpha=alpha, divisor=divisor, form=form),
    )


def mochi(
    *,
    temperature: float,
    hardest: int = 1024,
    pairs: int = 1024,
    with_anchor: int = 128,
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Return NT-Xent with further negatives for each anchor, mixed of its hardest ones (MoCHi).

    Args:
        temperature: divisor of the cosine similarities; 0.2 is a good start for images, 0.1 for texts.
        hardest: number of hardest negatives that are mixed; all where an anchor has fewer.
        pairs: number of mixtures of two negatives.
        with_anchor: number of mixtures of the anchor and a negative.
        selection: rule for the negatives.

    Source: Kalantidis et al. (2020), sections 4.1 and 4.2, there with a queue.

    Example:
        >>> mochi(temperature=0.2, hardest=64, pairs=32, with_anchor=8).mixing.count
        40
    """
    return Objective(
        temperature=temperature,
        selection=selection,
        mixing=HardMixing(hardest=hardest, pairs=pairs, with_anchor=with_anchor),
    )


def decoupled(*, temperature: float, selection: Selection = All()) -> Objective:  # noqa: B008
    """Return decoupled contrast, whose denominator has no positive.

        -l+ + log( 1/N sum_j e^{l_j} )

    Args:
        temperature: divisor of the cosine similarities; 0.2 is a good start for images, 0.1 for texts.
        selection: rule for the negatives.

    Source: Yeh et al. (2022), the loss L_DC. Differs: less the constant log N, which has no gradient.

    Example:
        >>> decoupled(temperature=0.5).contrast
        InfoNCE(weight=None, limit=True)
    """
    return Objective(temperature=temperature, selection=selection, contrast=InfoNCE(limit=True))


def supcon(
    *,
    temperature: float,
    average: Literal["outside", "inside"] = "outside",
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Return supervised contrast: rows of one class are positives of each other, by the classes as ids.

    -1/|P| sum_P log( e^{l_p} / (sum_P e^{l_p} + sum_j e^{l_j}) ), P the other rows of the anchor's class.

    Args:
        temperature: divisor of the cosine similarities; 0.2 is a good start for images, 0.1 for texts.
        average: whether the mean over the positives is taken "outside" the logarithm or "inside".
        selection: rule for the negatives.

    Source: Khosla et al. (2020), eq. 2 and 3. Without the other positives in the denominator it is
    `simclr(...)` with the classes as ids: Feeney and Hughes (2023), SINCERE.

    Example:
        >>> import torch
        >>> view_a, view_b, classes = torch.eye(4), torch.eye(4), torch.tensor([0, 0, 1, 1])
        >>> loss = supcon(temperature=0.1)(view_a, view_b, ids=classes)
        >>> supcon(temperature=0.1).contrast
        SupCon(average='outside', weight=None)
    """
    return Objective(temperature=temperature, selection=selection, contrast=SupCon(average=average))


def logistic(
    *,
    weight: float | None = None,
    coupling: Coupling = Uniform(),  # noqa: B008
    selection: Selection = All(),  # noqa: B008
) -> Objective:
    """Return the m-pair logistic loss on raw inner products.

        log(1 + (q/m) sum_j e^{f(x).(f(x_j) - f(x+))})

    Args:
        weight: factor q; by default the number of negatives, so that the factor of the sum is 1.
        coupling: weights of the negatives.
        selection: rule for the negatives; `Subset(k)` decouples their number from the batch.

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


def debias_of(class_prior: float, least_similarity: float = -1.0) -> Debias | None:
    """Return the correction, or None for a prior of 0, so that `repr` shows the parts in effect."""
    if class_prior == 0:
        return None
    return Debias(class_prior=class_prior, least_similarity=least_similarity)
