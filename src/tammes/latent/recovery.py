"""How well an encoder recovers the latents: classes, inner products, the latents themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer
from tammes.evaluation import LabeledFeatures
from tammes.latent.linear_boundary import LinearBoundary
from tammes.latent.trained import Trained


class Classifier(Protocol):
    """Anything of `tammes.evaluation` that has an accuracy: `KNN`, `LinearProbe`, `MeanClassifier`."""

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> float:
        """The fraction of test points that get their label."""


@dataclass(frozen=True, kw_only=True)
class ClassAccuracy:
    """How well a classifier of the embeddings tells the latent classes, over several train and test sets.

    Args:
        classifier: `KNN(neighbors=...)`, `LinearProbe()`.
        train: points to learn from.
        test: points to be tried on.
        resamples: how often both are drawn.

    Raises:
        ValueError: a number below 1.

    Source: Weber and Bachman (2022), Table II: kNN, 10 resamples.

    Example:
        >>> from tammes.evaluation import KNN
        >>> ClassAccuracy(classifier=KNN(neighbors=5)).resamples
        10
    """

    classifier: Classifier
    train: int = 1000
    test: int = 1000
    resamples: int = 10

    def __post_init__(self) -> None:
        for name in ("train", "test", "resamples"):
            check_integer(f"ClassAccuracy.{name}", vars(self)[name], minimum=1)

    def __call__(self, trained: Trained) -> Float[Tensor, " runs"]:
        """The mean accuracy over the resamples, float64 (runs,).

        Raises:
            ValueError: the model has no classes.
        """
        accuracies = [self._once(trained, resample) for resample in range(self.resamples)]
        return torch.tensor(accuracies, dtype=torch.float64).mean(dim=0)

    def _once(self, trained: Trained, resample: int) -> list[float]:
        latents, embeddings = trained.embedded(self.train + self.test, f"resample {resample}")
        if latents.labels is None:
            raise ValueError("class accuracy needs labels, and this LatentModel has none: give it classes")
        sizes = [self.train, self.test]
        return [
            self.classifier.accuracy(*map(LabeledFeatures.of, z.split(sizes), labels.split(sizes)))
            for z, labels in zip(embeddings, latents.labels, strict=True)
        ]


def boundary_accuracy(trained: Trained, *, test: int = 2000) -> Float[Tensor, " runs"]:
    """The accuracy of q_t, learned from D_t, on new points: what Table I reports after every round.

    Args:
        trained: encoders, of a model with classes.
        test: new points.

    Raises:
        ValueError: the model has no classes.
    """
    latents, embeddings = trained.embedded(test, "boundary")
    classes = trained.world.classes
    if trained.known.labels is None or latents.labels is None or classes is None:
        raise ValueError("class accuracy needs labels, and this LatentModel has none: give it classes")
    with torch.no_grad():
        learned = LinearBoundary.learned(
            trained.encoder(trained.known.observations),
            trained.known.labels,
            classes=classes.means.shape[1],
        )
    return (learned.predict(embeddings) == latents.labels).to(torch.float64).mean(dim=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Preservation:
    """How well h keeps inner products up to a constant: h(z).h(z') = kappa z.z'.

    Attributes:
        constant: kappa of the best fit, (runs,).
        fit: (runs,), 1 - (mean squared residual) / (mean square of h(z).h(z')): 1 is perfect.
    """

    constant: Float[Tensor, " runs"]
    fit: Float[Tensor, " runs"]


def product_preservation(
    latents: Float[Tensor, "runs n d"], embeddings: Float[Tensor, "runs n e"]
) -> Preservation:
    """The least-squares kappa over all pairs of different points, and how well it fits.

    Args:
        latents: z, (runs, n, d), n of at least 2.
        embeddings: h(z), (runs, n, e).

    Raises:
        ValueError: shapes that do not belong together.

    Source: Weber and Bachman (2022), sec. II.B.

    Example:
        >>> z = torch.nn.functional.normalize(torch.randn(1, 50, 3), dim=-1)
        >>> turned = z @ torch.linalg.qr(torch.randn(3, 3))[0]
        >>> product_preservation(z, turned).fit.round(decimals=3)
        tensor([1.])
    """
    _check_together(latents, embeddings, least=2)
    n = latents.shape[1]
    upper = torch.triu_indices(n, n, offset=1, device=latents.device)
    true, found = ((v @ v.mT)[:, upper[0], upper[1]] for v in (latents, embeddings))
    constant = (true * found).sum(dim=1) / true.square().sum(dim=1)
    residual = (found - constant[:, None] * true).square().sum(dim=1)
    return Preservation(constant=constant, fit=1 - residual / found.square().sum(dim=1))


def linear_identifiability(
    latents: Float[Tensor, "runs n d"], embeddings: Float[Tensor, "runs n e"]
) -> Float[Tensor, " runs"]:
    """R^2 of the best affine map from the embeddings to the latents, on points it was not fitted to.

        1 - sum |z - A h(z) - b|^2 / sum |z - mean z|^2

    A and b are fitted to the first half of the points, and R^2 is that of the second half.

    Args:
        latents: z, (runs, n, d), n of more than 2 (e + 1).
        embeddings: h(z), (runs, n, e).

    Raises:
        ValueError: shapes that do not belong together, too few points.

    Source: Zimmermann et al. (2021), sec. 4.

    Example:
        >>> z = torch.nn.functional.normalize(torch.randn(1, 50, 3), dim=-1)
        >>> linear_identifiability(z, z @ torch.randn(3, 3)).round(decimals=3)
        tensor([1.])
    """
    _check_together(latents, embeddings, least=2 * embeddings.shape[-1] + 3)
    h = torch.cat([embeddings, torch.ones_like(embeddings[..., :1])], dim=-1).double()
    z = latents.double()
    half = z.shape[1] // 2
    # The driver of the pseudoinverse, which a rank below that of h does not disturb.
    fitted = torch.linalg.pinv(h[:, :half]) @ z[:, :half]
    return _explained(z[:, half:], h[:, half:] @ fitted).to(latents.dtype)


def orthogonal_identifiability(
    latents: Float[Tensor, "runs n d"], embeddings: Float[Tensor, "runs n e"]
) -> Float[Tensor, " runs"]:
    """R^2 of the best orthogonal map from the embeddings to the latents: turned and mirrored, not stretched.

    Where the dimensions differ, the smaller of the two spaces is padded with zeros.

    Args:
        latents: z, (runs, n, d).
        embeddings: h(z), (runs, n, e).

    Raises:
        ValueError: shapes that do not belong together.

    Source: Weber and Bachman (2022), Theorem 4.1; the map is Procrustes'.

    Example:
        >>> z = torch.nn.functional.normalize(torch.randn(1, 50, 3), dim=-1)
        >>> orthogonal_identifiability(z, z @ torch.linalg.qr(torch.randn(3, 3))[0]).round(decimals=3)
        tensor([1.])
    """
    _check_together(latents, embeddings, least=2)
    width = max(latents.shape[-1], embeddings.shape[-1])
    z, h = (torch.nn.functional.pad(v, (0, width - v.shape[-1])).double() for v in (latents, embeddings))
    left, _, right = torch.linalg.svd(h.mT @ z)
    return _explained(z, h @ left @ right).to(latents.dtype)


def _explained(true: Tensor, fitted: Tensor) -> Tensor:
    around = (true - true.mean(dim=1, keepdim=True)).square().sum(dim=(1, 2))
    return 1 - (true - fitted).square().sum(dim=(1, 2)) / around


def _check_together(latents: Tensor, embeddings: Tensor, *, least: int) -> None:
    if latents.ndim != 3 or embeddings.ndim != 3 or latents.shape[:2] != embeddings.shape[:2]:
        raise ValueError(
            "expected latents (runs, n, d) and embeddings (runs, n, e) of the same points, got "
            f"{tuple(latents.shape)} and {tuple(embeddings.shape)}"
        )
    if latents.shape[1] < least:
        raise ValueError(f"expected at least {least} points, got {latents.shape[1]}")
