import pytest
import torch
from torch import nn

from tammes.training import ImagesSummary, Model, RunConfig, build_model, embed
from tammes.training.embedding import evaluating
from tiny import make_config, random_images


def model() -> Model:
    images = ImagesSummary(source="", count=22, channels=1, size=8)
    return build_model(RunConfig(training=make_config(), data=images))


def test_batches_change_nothing_but_rounding() -> None:
    images = random_images(11)
    whole, parts = embed(model(), images), embed(model(), images, batch_size=3)
    for one, other in zip(whole, parts, strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-6)


def test_rows_come_in_the_order_of_the_images() -> None:
    images, network = random_images(11), model()
    features, _ = embed(network, images)
    alone, _ = embed(network, images.subset([7]))
    assert torch.allclose(features[7], alone[0], rtol=1e-5, atol=1e-6)


def test_the_shared_generator_is_left_alone_and_the_results_can_be_trained_on() -> None:
    state = torch.get_rng_state()
    features, _ = embed(model(), random_images(5))
    assert torch.equal(torch.get_rng_state(), state)
    nn.Linear(features.shape[1], 2)(features).sum().backward()


def test_every_module_gets_its_mode_back() -> None:
    network = nn.Sequential(nn.Dropout(), nn.BatchNorm1d(3))
    network[1].eval()
    with evaluating(network):
        assert not any(module.training for module in network.modules())
    assert [module.training for module in network.modules()] == [True, True, False]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch_size must be an integer of at least 1, got 0"),
        ({"workers": -1}, "workers must be an integer of at least 0, got -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        embed(model(), random_images(3), **settings)


@pytest.mark.parametrize(("part", "name"), [("encoder", "features"), ("head", "embeddings")])
def test_a_model_that_has_diverged_is_refused(part: str, name: str) -> None:
    network = model()
    next(network.get_submodule(part).parameters()).data.fill_(torch.nan)
    with pytest.raises(ValueError, match=f"expected finite {name}, got NaN or infinity in 3 of 3 rows"):
        embed(network, random_images(3))
