from __future__ import annotations

import pytest
import torch

from tammes.evaluation import (
    LabeledFeatures,
    LinearProbe,
    LinearReadout,
    ProbeNotConvergedWarning,
    feature_readouts,
)


def points(count: int, classes: int, seed: int = 0) -> LabeledFeatures:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % classes + 5
    centers = torch.randn(classes, 6, generator=torch.Generator().manual_seed(9))
    features = 3 + 2 * centers[labels - 5] + torch.randn(count, 6, generator=generator)
    return LabeledFeatures(features=features, labels=labels)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_fitted_readout_predicts_as_the_probe_does(classes: int) -> None:
    train, test = points(80, classes), points(60, classes, seed=1)
    readout = LinearProbe().fit(train)
    assert readout.weight.shape == (classes, 6)
    assert torch.equal(readout.predict(test.features.double()), LinearProbe().predict(train, test.features))
    scores = readout.logits(test.features)
    assert scores.dtype == torch.float32
    loss = torch.nn.functional.cross_entropy(readout.logits(train.features), train.labels - 5)
    assert float(loss) < 0.7  # the logits are those of the regression, not only their order


def test_the_logits_have_a_gradient_in_the_features() -> None:
    train = points(40, 3)
    features = train.features.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(LinearProbe().fit(train).logits(features)[:, 1].sum(), features)
    assert torch.allclose(gradient[0], LinearProbe().fit(train).weight[1].float())


def test_a_probe_that_runs_out_of_iterations_warns_its_caller() -> None:
    with pytest.warns(ProbeNotConvergedWarning) as caught:
        LinearProbe(iterations=1).fit(points(40, 3))
    assert caught[0].filename == __file__


def test_weights_bias_and_classes_belong_together() -> None:
    for bias, classes, match in ((3, 2, "bias"), (2, 3, "classes")):
        with pytest.raises(ValueError, match=f"{match}, one for each row of weights"):
            LinearReadout(weight=torch.eye(2), bias=torch.zeros(bias), classes=torch.arange(classes))


def test_each_feature_is_read_from_the_same_vectors() -> None:
    generator = torch.Generator().manual_seed(0)
    color, shape = (torch.randint(2, (400,), generator=generator) for _ in range(2))
    vectors = torch.stack([color.float(), torch.rand(400, generator=generator)], dim=1)
    parts = [
        (vectors[rows], {"color": color[rows], "shape": shape[rows]})
        for rows in (slice(0, 300), slice(300, None))
    ]
    found = feature_readouts(*parts, LinearProbe())
    assert found["color"] == 1
    assert found["shape"] < 0.7
    with pytest.raises(
        ValueError, match="expected the same features in both parts, got color, shape to train"
    ):
        feature_readouts(parts[0], (vectors, {"color": color}), LinearProbe())
