"""The measures know what is recovered and what is not; training recovers what the paper says it does."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import normalize

from tammes.evaluation import KNN, LinearProbe
from tammes.latent import (
    ClassAccuracy,
    Classes,
    EncoderShape,
    GaussianNoise,
    Laboratory,
    LatentModel,
    LatentPerturbation,
    MisesFisher,
    Mixing,
    Strategy,
    algorithm_2,
    boundary_accuracy,
    linear_identifiability,
    orthogonal_identifiability,
    product_preservation,
)

Z = normalize(torch.randn(2, 600, 3, generator=torch.Generator().manual_seed(1)), dim=-1)
TURN = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(2)))[0]
MODEL = LatentModel(
    informative=3,
    uninformative=2,
    classes=Classes(count=2, spread=GaussianNoise(scale=0.2)),
    mixing=Mixing(observed=12, depth=0),
)


def test_a_turned_and_shrunk_copy_is_recovered() -> None:
    h = 0.5 * Z @ TURN
    torch.testing.assert_close(linear_identifiability(Z, h), torch.ones(2))
    torch.testing.assert_close(orthogonal_identifiability(Z, Z @ TURN), torch.ones(2), atol=1e-4, rtol=0)
    assert float(orthogonal_identifiability(Z, h).max()) < 0.8
    kappa, fit = product_preservation(Z, h)
    torch.testing.assert_close(kappa, torch.full((2,), 0.25))
    torch.testing.assert_close(fit, torch.ones(2))


def test_a_stretched_copy_is_recovered_linearly_and_in_more_dimensions() -> None:
    h = torch.cat([Z * torch.tensor([3.0, 1.0, 0.2]), torch.zeros(2, 600, 2)], dim=-1)
    torch.testing.assert_close(linear_identifiability(Z, h), torch.ones(2))
    assert float(orthogonal_identifiability(Z, h).max()) < 0.5
    assert float(product_preservation(Z, h)[1].max()) < 0.95
    padded = torch.nn.functional.pad(Z @ TURN, (0, 4))
    torch.testing.assert_close(orthogonal_identifiability(Z, padded), torch.ones(2), atol=1e-4, rtol=0)


def test_what_has_nothing_to_do_with_the_latents_recovers_nothing() -> None:
    h = normalize(torch.randn(2, 600, 4), dim=-1)
    assert float(linear_identifiability(Z, h).abs().max()) < 0.1
    assert float(orthogonal_identifiability(Z, h).max()) < 0.0
    assert float(product_preservation(Z, h)[1].abs().max()) < 0.05


def test_measures_refuse_what_does_not_belong_together() -> None:
    with pytest.raises(ValueError, match=r"of the same points, got \(2, 600, 3\) and \(2, 5, 3\)"):
        product_preservation(Z, Z[:, :5])
    with pytest.raises(ValueError, match=r"expected at least 9 points, got 8"):
        linear_identifiability(Z[:, :8], Z[:, :8])


def test_measures_refuse_what_would_be_nan() -> None:
    zero, equal = torch.zeros_like(Z), torch.ones_like(Z)
    for measure in (product_preservation, linear_identifiability, orthogonal_identifiability):
        for latents, embeddings, name in ((Z / 0, Z, "latents"), (Z, Z * torch.nan, "embeddings")):
            with pytest.raises(ValueError, match=rf"expected finite {name}, got NaN or infinity in 1200 of"):
                measure(latents, embeddings)
    for measure in (linear_identifiability, orthogonal_identifiability):
        with pytest.raises(ValueError, match="expected latents that differ"):
            measure(torch.stack([Z[0], equal[0]]), Z)
    with pytest.raises(ValueError, match="latents whose inner products are not all 0"):
        product_preservation(zero, Z)
    with pytest.raises(ValueError, match="embeddings whose inner products are not all 0"):
        product_preservation(Z, zero)


def test_training_identifies_uniform_latents_as_theory_says() -> None:
    """Without classes, von Mises-Fisher positives on the sphere: h becomes orthogonal.

    At the temperature of the positives, 0.1, many seeds stay in a folded map (R^2 near 2/3; docs/latent.md).
    """
    lab = Laboratory(
        model=replace(MODEL, uninformative=0, classes=None, mixing=Mixing(observed=12, depth=1)),
        encoder=EncoderShape(dim=3, width=48),
        temperature=0.3,
        rounds=400,
        learning_rate=5e-3,
    )
    strategy = Strategy(positives=LatentPerturbation(informative=MisesFisher(concentration=10.0)))
    before, after = (
        trained["it"].embed(400)
        for trained in (
            replace(lab, rounds=1, learning_rate=1e-9).train({"it": strategy}, (0, 1)),
            lab.train({"it": strategy}, (0, 1)),
        )
    )
    first, last = (orthogonal_identifiability(z.informative, h) for z, h in (before, after))
    assert float(first.max()) < 0.6 < 0.95 < float(last.min())
    assert float(linear_identifiability(after[0].informative, after[1]).min()) > 0.97
    assert float(product_preservation(after[0].informative, after[1])[1].min()) > 0.95


def test_class_accuracies_are_those_of_the_classes() -> None:
    lab = Laboratory(
        model=MODEL, encoder=EncoderShape(dim=4, width=32), temperature=0.5, rounds=60, learning_rate=3e-3
    )
    trained = lab.train({"class": algorithm_2.class_preserving()}, (0, 1))["class"]
    by_knn = ClassAccuracy(classifier=KNN(neighbors=5), train=200, test=200, resamples=2)(trained)
    by_line = ClassAccuracy(classifier=LinearProbe(), train=200, test=200, resamples=1)(trained)
    for found in (by_knn, by_line, boundary_accuracy(trained)):
        assert found.shape == (2,)
        assert 0.95 < float(found.min()) <= 1.0
    without = replace(lab, model=replace(MODEL, classes=None), rounds=1)
    unlabeled = without.train({"it": algorithm_2.baseline()}, (0,))["it"]
    for measure in (ClassAccuracy(classifier=KNN(neighbors=5)), boundary_accuracy):
        with pytest.raises(ValueError, match=r"needs labels, and this LatentModel has none"):
            measure(unlabeled)
    with pytest.raises(ValueError, match=r"ClassAccuracy.resamples must be an integer of at least 1"):
        ClassAccuracy(classifier=KNN(), resamples=0)
