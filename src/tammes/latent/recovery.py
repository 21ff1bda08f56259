"""Measures of what an encoder recovers: the classes, the inner products, the latents themselves."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_finite_rows, check_integer
from tammes.evaluation import KNN, LabeledFeatures, LinearClassifier, LinearProbe, MeanClassifier
from tammes.latent.round_state import TrainedEncoders

Classifier = KNN | LinearProbe | LinearClassifier | MeanClassifier
"""Classifiers with the same `accuracy(train, test)`."""


@dataclass(frozen=True, kw_only=True)
class ClassAccuracy:
    """Accuracy of a classifier of the embeddings for the latent classes, over several train and test sets.

    Args:
        classifier: classifier of the embeddings, such as `KNN(neighbors=...)` or `LinearProbe()`.
        train: number of training points, at least 1.
        test: number of test points, at least 1.
        resamples: number of draws of both sets, at least 1.

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
            check_integer(f"ClassAccuracy.{name}", vars(self)[name])

    def __call__(self, trained: TrainedEncoders) -> Float[Tensor, " runs"]:
        """Return the mean accuracy over the resamples, in float64.

        Raises:
            ValueError: the model has no classes.
        """
        accuracies = [self._once(trained, resample) for resample in range(self.resamples)]
        return torch.tensor(accuracies, dtype=torch.float64).mean(dim=0)

    def _once(self, trained: TrainedEncoders, resample: int) -> list[float]:
        latents, embeddings = trained.embed(self.train + self.test, f"resample {resample}")
        if latents.labels is None:
            raise ValueError(
                "class accuracy needs labels, and this LatentModel has none: give it classes=Classes(...)"
            )
        sizes = [self.train, self.test]
        return [
            self.classifier.accuracy(*map(LabeledFeatures.of, z.split(sizes), labels.split(sizes)))
            for z, labels in zip(embeddings, latents.labels, strict=True)
        ]


def boundary_accuracy(trained: TrainedEncoders, *, test: int = 2000) -> Float[Tensor, " runs"]:
    """Return the accuracy of q_t, fitted to D_t, on new points: what Table I reports after every round.

    Args:
        trained: encoders of a model with classes.
        test: number of new points, at least 1.

    Raises:
        ValueError: the model has no classes, or only one.
    """
    classifier = trained.state.classifier
    latents, embeddings = trained.embed(test, "boundary")
    assert latents.labels is not None  # the classifier was fitted to labels
    return (classifier.predict(embeddings) == latents.labels).to(torch.float64).mean(dim=1)


def product_preservation(
    latents: Float[Tensor, "runs n d"], embeddings: Float[Tensor, "runs n e"]
) -> tuple[Float[Tensor, " runs"], Float[Tensor, " runs"]]:
    """Return how well h preserves inner products up to a constant.

        h(z).h(z')  =  kappa z.z'

    Args:
        latents: z, at least two for each run.
        embeddings: h(z).

    Returns:
        The least-squares kappa over all pairs of different points, and the fit 1 - (mean squared residual) /
        (mean square of h(z).h(z')), which is 1 where kappa fits all pairs.

    Raises:
        ValueError: latents and embeddings of different points, or fewer than two; numbers that are NaN or
            infinite; latents, or embeddings, of which all inner products are 0.

    Source: Weber and Bachman (2022), sec. II.B.

    Example:
        >>> z = torch.nn.functional.normalize(torch.randn(1, 50, 3), dim=-1)
        >>> rotated = z @ torch.linalg.qr(torch.randn(3, 3))[0]
        >>> kappa, fit = product_preservation(z, rotated)
        >>> kappa.round(decimals=3), fit.round(decimals=3)
        (tensor([1.]), tensor([1.]))
    """
    _check_same_points(latents, embeddings, minimum=2)
    n = latents.shape[1]
    upper = torch.triu_indices(n, n, offset=1, device=latents.device)
    true, found = ((v @ v.mT)[:, upper[0], upper[1]] for v in (latents, embeddings))
    for name, products in (("latents", true), ("embeddings", found)):
        if not bool(products.any(dim=1).all()):
            raise ValueError(f"expected {name} whose inner products are not all 0, got a run of such {name}")
    kappa = (true * found).sum(dim=1) / true.square().sum(dim=1)
    residual = (found - kappa[:, None] * true).square().sum(dim=1)
    return kappa, 1 - residual / found.square().sum(dim=1)


def linear_identifiability(
    latents: Float[Tensor, "runs n d"], embeddings: Float[Tensor, "runs n e"]
) -> Float[Tensor, " runs"]:
    """Return R^2 of the best affine map from the embeddings to the latents, on points not used to fit it.

        1 - sum |z - A h(z) - b|^2 / sum |z - mean z|^2

    The first half of the points gives A and b, the second half R^2.

    Args:
        latents: z, more than 2 (e + 1) for each run.
        embeddings: h(z).

    Raises:
        ValueError: latents and embeddings of different points, or too few; numbers that are NaN or infinite;
            latents of the second half that are all equal.

    Source: Zimmermann et al. (2021), sec. 4.

    Example:
        >>> z = torch.nn.functional.normalize(torch.randn(1, 50, 3), dim=-1)
        >>> linear_identifiability(z, z @ torch.randn(3, 3)).round(decimals=3)
        tensor([1.])
    """
    _check_same_points(latents, embeddings, minimum=2 * embeddings.shape[-1] + 3)
    h = torch.cat([embeddings, torch.ones_like(embeddings[..., :1])], dim=-1).double()
    z = latents.double()
    half = z.shape[1] // 2
    # By the pseudoinverse, since h may have less than full rank.
    fitted = torch.linalg.pinv(h[:, :half]) @ z[:, :half]
    return _r_squared(z[:, half:], h[:, half:] @ fitted).to(latents.dtype)


def orthogonal_identifiability(
    latents: Float[Tensor, "runs n d"], embeddings: Float[Tensor, "runs n e"]
) -> Float[Tensor, " runs"]:
    """Return R^2 of the best orthogonal map (rotation or reflection) from the embeddings to the latents.

    Where the dimensions differ, the smaller of the two spaces is padded with zeros.

    Args:
        latents: z, at least two for each run.
        embeddings: h(z).

    Raises:
        ValueError: latents and embeddings of different points, or fewer than two; numbers that are NaN or
            infinite; latents that are all equal.

    Source: Weber and Bachman (2022), Theorem 4.1; the map is Procrustes'.

    Example:
        >>> z = torch.nn.functional.normalize(torch.randn(1, 50, 3), dim=-1)
        >>> orthogonal_identifiability(z, z @ torch.linalg.qr(torch.randn(3, 3))[0]).round(decimals=3)
        tensor([1.])
    """
    _check_same_points(latents, embeddings, minimum=2)
    width = max(latents.shape[-1], embeddings.shape[-1])
    z, h = (torch.nn.functional.pad(v, (0, width - v.shape[-1])).double() for v in (latents, embeddings))
    left, _, right = torch.linalg.svd(h.mT @ z)
    return _r_squared(z, h @ left @ right).to(latents.dtype)


def _r_squared(true: Float[Tensor, "runs n d"], fitted: Float[Tensor, "runs n d"]) -> Float[Tensor, " runs"]:
    if bool((true == true[:, :1]).all(dim=(1, 2)).any()):
        raise ValueError("expected latents that differ, got a run in which all are equal")
    around = (true - true.mean(dim=1, keepdim=True)).square().sum(dim=(1, 2))
    return 1 - (true - fitted).square().sum(dim=(1, 2)) / around


def _check_same_points(latents: Tensor, embeddings: Tensor, *, minimum: int) -> None:
    if latents.ndim != 3 or embeddings.ndim != 3 or latents.shape[:2] != embeddings.shape[:2]:
        raise ValueError(
            "expected latents (runs, n, d) and embeddings (runs, n, e) of the same points, got "
            f"{tuple(latents.shape)} and {tuple(embeddings.shape)}"
        )
    if latents.shape[1] < minimum:
        raise ValueError(f"expected at least {minimum} points, got {latents.shape[1]}")
    for name, vectors in (("latents", latents), ("embeddings", embeddings)):
        check_finite_rows(name, vectors.flatten(0, 1))
