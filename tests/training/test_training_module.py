"""What a step may be made of beyond the usual: chunks, a queue, a beta or a temperature that changes."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from killed import assert_resumes
from tammes import Objective, recipes
from tammes.data import Texts
from tammes.encoders import ResNetConfig
from tammes.positives import Active, SameClass
from tammes.sources import Queue
from tammes.training import (
    Adam,
    Falling,
    ImagesSummary,
    Machine,
    MomentumEncoder,
    Oscillating,
    QueueConfig,
    Rising,
    Run,
    RunConfig,
    RunFolder,
    TrainingConfig,
    build_model,
    load_run,
    train,
)
from tammes.training.checkpoint import load_checkpoint
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.distributed.batch_norm import with_global_batch_norm
from tammes.training.examples import Examples
from tammes.training.module import ContrastiveModule
from tammes.training.sampler import Shard
from tammes.training.views import views_of
from tiny import make_config, make_text_config, random_images

HCL = recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
EVERYTHING = replace(
    make_config(),
    chunk=3,
    annealing=Falling(changes=3),
    learn_temperature=True,
    precision="bf16-mixed",
)
WITH_QUEUE = replace(
    make_config(), objective=HCL, negatives=QueueConfig(size=10, momentum=0.5, rising=True), chunk=3
)
IMAGES = 22
ONE_STEP = replace(make_config(), batch_size=IMAGES, epochs=1)


def go(config: TrainingConfig, folder: RunFolder | None = None) -> Run:
    return train(config, random_images(IMAGES), folder=folder, machine=Machine(accelerator="cpu"))


def weights_of(run: Run) -> torch.Tensor:
    return torch.nn.utils.parameters_to_vector(run.model.parameters()).detach()


def largest_difference(first: Run, second: Run) -> float:
    return float((weights_of(first) - weights_of(second)).abs().max())


def distance(first: Run, second: Run) -> float:
    """Return the distance of all weights, for runs that differ by rounding.

    Adam turns the rounding of a gradient near zero into a step of any size below its learning rate, so that
    the weight that differs most says nothing. In the next step such a difference may carry an activation over
    the kink of a ReLU, and the gradient with it: compare runs of a single step, `ONE_STEP`.
    """
    return float((weights_of(first) - weights_of(second)).norm())


@pytest.mark.equal_bits
@pytest.mark.parametrize("config", [EVERYTHING, WITH_QUEUE], ids=["everything", "queue"])
@pytest.mark.parametrize("step", [1, 5, 8])
def test_killed_and_resumed_it_is_the_same_run(tmp_path: Path, config: TrainingConfig, step: int) -> None:
    assert_resumes(lambda folder: go(config, folder), tmp_path, killed_at=step)


@pytest.mark.parametrize("chunk", [1, 3, 4, 100])
def test_chunks_change_nothing_but_rounding(chunk: int) -> None:
    whole, chunked = go(ONE_STEP), go(replace(ONE_STEP, chunk=chunk))
    assert distance(whole, chunked) < 1e-3
    assert distance(whole, go(replace(ONE_STEP, seed=1))) > 1e-1


def test_with_batch_norm_a_chunk_is_another_batch() -> None:
    config = replace(make_config(), encoder=ResNetConfig(), epochs=1)
    whole, chunked = go(config), go(replace(config, chunk=2))
    assert largest_difference(whole, chunked) > 1e-3
    tracked = [run.model.state_dict()["encoder.stem.1.num_batches_tracked"] for run in (whole, chunked)]
    assert tracked == [5, 5 * 2 * 2], "two views of two chunks a step, each counted once"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> list[ContrastiveModule]:
    """The modules that are trained in a test, to be looked at afterwards."""
    begun: list[ContrastiveModule] = []
    begin = ContrastiveModule.on_train_start
    monkeypatch.setattr(
        ContrastiveModule, "on_train_start", lambda self: (begun.append(self), begin(self))[1]
    )
    return begun


def test_a_queue_holds_the_keys_of_earlier_batches(modules: list[ContrastiveModule]) -> None:
    run = go(WITH_QUEUE)
    (module,) = modules
    assert isinstance(module.source, Queue)
    assert (module.source.held, int(module.source.stored)) == (10, 3 * 5 * 4)
    assert run.metrics[-1].last["negatives"] > 4, "more than the other keys of the batch"
    assert module.source.ids.max() < 22, "known by the numbers of their images"
    assert module.keys is not None
    assert not any(weight.requires_grad for weight in module.keys.parameters())
    assert {name.split(".")[0] for name in run.model.state_dict()} == {"encoder", "head"}


@pytest.mark.equal_bits
def test_the_momentum_encoder_follows_after_each_step(
    modules: list[ContrastiveModule], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[float, torch.Tensor]] = []
    update = MomentumEncoder.update

    def spy(keys: MomentumEncoder, model: torch.nn.Module, *, momentum: float) -> None:
        before = torch.nn.utils.parameters_to_vector(keys.model.parameters())
        update(keys, model, momentum=momentum)
        weights = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
        seen.append((momentum, weights))
        after = torch.nn.utils.parameters_to_vector(keys.model.parameters())
        torch.testing.assert_close(after, momentum * before + (1 - momentum) * weights)

    monkeypatch.setattr(MomentumEncoder, "update", spy)
    run = go(WITH_QUEUE)
    queue = QueueConfig(momentum=0.5, rising=True)
    momenta = [queue.momentum_at(step=step, steps=15) for step in range(15)]
    assert [momentum for momentum, _ in seen] == momenta
    assert all(not torch.equal(a[1], b[1]) for a, b in pairwise(seen)), "of the weights after each step"
    assert torch.equal(seen[-1][1], weights_of(run))


def test_processes_must_take_the_same_number_of_chunks_where_batch_norm_is_global() -> None:
    config = replace(make_config(), encoder=ResNetConfig(), batch_size=5, chunk=2)
    images = ImagesSummary.of(random_images(22), "noise")
    model = build_model(RunConfig(training=config, data=images))
    shard = Shard(batch_size=5, rank=1, processes=2)
    with_global_batch_norm(model)
    uneven, even = (
        ContrastiveModule(
            replace(config, chunk=chunk),
            model,
            examples=Examples.of(random_images(22)),
            steps_per_epoch=4,
            shard=shard,
        )
        for chunk in (2, 3)
    )
    with pytest.raises(ValueError, match="3 images make more chunks of 2 than 2: choose another chunk"):
        uneven.on_fit_start()
    even.on_fit_start()


def test_beta_is_that_of_the_epoch() -> None:
    config = replace(make_config(), objective=HCL)
    run = go(replace(config, annealing=Falling(changes=3)))
    assert [row.last["beta"] for row in run.metrics] == pytest.approx([1.0, 2 / 3, 1 / 3])
    rising = go(replace(config, annealing=Rising(changes=1)))
    uniform = recipes.hcl(temperature=0.5, beta=0.0, class_prior=0.1)
    assert largest_difference(rising, go(replace(config, objective=uniform))) == 0.0
    assert largest_difference(rising, run) > 0.0
    assert "beta" not in go(config).metrics[-1].last


def test_an_oscillating_temperature_is_that_of_the_epoch() -> None:
    config = replace(make_config(), annealing=Oscillating(low=0.1, high=0.9, period=4))
    assert [row.last["temperature"] for row in go(config).metrics] == pytest.approx([0.9, 0.5, 0.1])
    with pytest.raises(ValueError, match="either learned or follows Oscillating"):
        replace(config, learn_temperature=True)
    with pytest.raises(ValueError, match="high"):
        Oscillating(low=0.5, high=0.1, period=4)


def test_a_learned_temperature_moves_and_is_written_down(tmp_path: Path) -> None:
    config = replace(make_config(), objective=HCL, optimizer=Adam(learning_rate=0.01), learn_temperature=True)
    run = go(config, RunFolder(path=tmp_path / "run"))
    learned = [row.last["temperature"] for row in run.metrics]
    assert len(set(learned)) == 3
    assert learned[-1] < 0.49, "noise that is told apart wants a sharper comparison"
    saved = load_checkpoint(tmp_path / "run/checkpoints/last.ckpt")["state_dict"]
    assert float(torch.exp(-saved["temperature.log_scale"])) == pytest.approx(learned[-1])
    assert load_run(tmp_path / "run").metrics[-1].last["temperature"] == learned[-1]


def test_weight_decay_leaves_the_temperature_alone() -> None:
    config = replace(make_config(), objective=HCL, epochs=1, learn_temperature=True)
    strong = replace(config, optimizer=Adam(learning_rate=1e-9, weight_decay=1e6))
    temperature = go(strong).metrics[-1].last["temperature"]
    none = go(replace(strong, optimizer=Adam(learning_rate=1e-9, weight_decay=0.0)))
    assert temperature == pytest.approx(none.metrics[-1].last["temperature"], abs=1e-12)
    optimizer = strong.optimizer.build(
        [torch.nn.Parameter(torch.ones(1))], undecayed=[torch.nn.Parameter(torch.ones(1))]
    )
    assert [group["weight_decay"] for group in optimizer.param_groups] == [1e6, 0.0]


def test_the_settings_survive_the_file_and_old_files_have_none_of_them() -> None:
    images = ImagesSummary.of(random_images(22), "noise")
    for training in (EVERYTHING, WITH_QUEUE):
        config = RunConfig(training=training, data=images)
        assert from_yaml(RunConfig, to_yaml(config)) == config
    old = yaml.safe_load(to_yaml(RunConfig(training=EVERYTHING, data=images)))
    for key in ("chunk", "annealing", "learn_temperature", "negatives", "positives"):
        del old["training"][key]
    del old["training"]["optimizer"]["clip_norm"]
    old["images"] = old.pop("data")
    plain = replace(EVERYTHING, chunk=None, annealing=None, learn_temperature=False)
    assert from_yaml(RunConfig, yaml.safe_dump(old)).training == plain


def test_what_is_spread_over_the_epochs_cannot_be_extended(tmp_path: Path) -> None:
    config = replace(make_config(), objective=HCL, optimizer=Adam(), epochs=2)
    assert config.is_extendable
    assert replace(config, negatives=QueueConfig()).is_extendable
    assert not replace(config, negatives=QueueConfig(rising=True)).is_extendable
    annealed = replace(config, annealing=Falling(changes=2))
    go(annealed, RunFolder(path=tmp_path / "run"))
    with pytest.raises(ValueError, match="a schedule over the epochs it was started with"):
        go(replace(annealed, epochs=3), RunFolder(path=tmp_path / "run", resume=True))


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(
        ValueError, match="size must be an integer of at least 1, got 0: it counts the keys of the queue"
    ):
        QueueConfig(size=0)
    with pytest.raises(ValueError, match=r"momentum must be a finite number at least 0 and below 1, got 1.0"):
        QueueConfig(momentum=1.0)
    with pytest.raises(
        ValueError, match="chunk must be an integer of at least 1, got 0: it counts views; None takes"
    ):
        replace(make_config(), chunk=0)
    with pytest.raises(ValueError, match=r"initial temperature 0.001 lies below lower_bound=0.01"):
        replace(make_config(), objective=recipes.simclr(temperature=0.001), learn_temperature=True)


@pytest.mark.parametrize("count", [1.5, True, "4", float("nan")])
def test_what_is_no_count_is_refused_before_training(count: Any) -> None:
    with pytest.raises(ValueError, match="size must be an integer of at least 1"):
        QueueConfig(size=count)
    with pytest.raises(ValueError, match="chunk must be an integer of at least 1"):
        replace(make_config(), chunk=count)


@pytest.mark.parametrize("part", ["queue", QueueConfig, True])
def test_parts_of_the_wrong_kind_are_refused_before_training(part: Any) -> None:
    with pytest.raises(ValueError, match=r"negatives must be InBatch\(\) or a QueueConfig"):
        replace(make_config(), negatives=part)
    with pytest.raises(ValueError, match=r"annealing must be Falling\(...\), Rising\(...\), Oscil"):
        replace(make_config(), annealing=part)


# Several crops.


def views_of_step(config: TrainingConfig) -> tuple[torch.Tensor, ...]:
    """The views that the first step of a run makes of its first batch."""
    images = random_images(22)
    model = build_model(RunConfig(training=config, data=ImagesSummary.of(images, "noise")))
    rows = torch.arange(4)
    batch = (images.batch(rows), None, torch.stack([rows, rows], 1))
    views = views_of(config, batch, step=0, shard=Shard(batch_size=4), model=model, active=None)
    return tuple(view for view in views if isinstance(view, torch.Tensor))


def test_the_first_two_crops_are_the_two_views() -> None:
    two, four = (views_of_step(replace(make_config(), crops=crops)) for crops in (2, 4))
    assert (len(two), len(four)) == (2, 4)
    assert all(torch.equal(*pair) for pair in zip(two, four[:2], strict=True))
    assert all(not torch.equal(*pair) for pair in pairwise(four))


def test_every_crop_is_a_positive_of_the_others_and_no_negative() -> None:
    config = replace(make_config(), objective=recipes.simclr(temperature=0.5), crops=3)
    images = random_images(22)
    model = build_model(RunConfig(training=config, data=ImagesSummary.of(images, "noise")))
    module = ContrastiveModule(config, model, examples=Examples.of(images), steps_per_epoch=5)
    views = torch.nn.functional.normalize(torch.randn(3, 4, 8, dtype=torch.float64), dim=2)
    pairs = module._pairs(tuple(views), torch.empty(0), torch.arange(4))
    assert pairs.positives().count.tolist() == [2] * 12
    s = views.reshape(12, 8) @ views.reshape(12, 8).T / 0.5
    losses = []
    for i in range(12):
        positives = [j for j in range(12) if j % 4 == i % 4 and j != i]
        negatives = s[i, [j for j in range(12) if j % 4 != i % 4]].exp().sum()
        each = [-(s[i, j] - (s[i, j].exp() + negatives).log()) for j in positives]
        losses.append(sum(each) / len(each))
    expected = torch.stack([torch.as_tensor(loss) for loss in losses]).mean()
    assert torch.isclose(config.objective(pairs), expected)


@pytest.mark.filterwarnings("ignore::tammes.training.metrics.OvertakenWarning")  # a training of noise
@pytest.mark.parametrize(
    "objective",
    [
        HCL,
        recipes.dcl(temperature=0.5, class_prior=0.1),
        recipes.hcl_ot(temperature=0.5, epsilon=0.5),
        recipes.triplet(margin=1.0),
        recipes.ifm(temperature=0.5, epsilon=0.1),
    ],
)
def test_any_objective_takes_several_crops(objective: Objective) -> None:
    config = replace(ONE_STEP, objective=objective, crops=3)
    whole, chunked = go(config), go(replace(config, chunk=3))
    assert distance(whole, chunked) < 1e-3
    assert torch.isfinite(weights_of(whole)).all()


@pytest.mark.equal_bits
def test_a_run_of_several_crops_resumes(tmp_path: Path) -> None:
    config = replace(make_config(), crops=4, optimizer=Adam())
    whole = go(replace(config, epochs=2))
    go(replace(config, epochs=1), RunFolder(path=tmp_path / "run"))
    resumed = go(replace(config, epochs=2), RunFolder(path=tmp_path / "run", resume=True))
    assert torch.equal(weights_of(whole), weights_of(resumed))
    with pytest.raises(ValueError, match=r"training\.crops was 4, now 3"):
        go(replace(config, epochs=2, crops=3), RunFolder(path=tmp_path / "run", resume=True))


def test_crops_are_views_of_one_image() -> None:
    with pytest.raises(ValueError, match="crops must be an integer of at least 2, got 1: a positive is"):
        replace(make_config(), crops=1)
    for settings in (
        {"positives": SameClass()},
        {"positives": Active(candidates=2)},
        {"negatives": QueueConfig(size=10)},
    ):
        with pytest.raises(ValueError, match=r"several crops are views .* got crops=3: choose 2, or"):
            replace(make_config(), crops=3, **settings)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="several crops are views of one image"):
        replace(make_text_config(), crops=3)


@pytest.mark.parametrize("chunk", [None, 2])
def test_a_compiled_network_trains_alike(monkeypatch: pytest.MonkeyPatch, chunk: int | None) -> None:
    graphs: list[object] = []

    def backend(graph: torch.fx.GraphModule, inputs: object) -> object:
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    torch.compiler.reset()
    config = replace(make_config(), epochs=2, chunk=chunk)
    plain = go(config)
    assert not graphs
    compiled = train(config, random_images(22), machine=Machine(accelerator="cpu", compile=True))
    assert graphs
    assert distance(plain, compiled) < 1e-5
    assert plain.model.state_dict().keys() == compiled.model.state_dict().keys()
    assert plain.metrics[-1].last["flops"] == compiled.metrics[-1].last["flops"]


def test_only_networks_of_images_and_volumes_are_compiled() -> None:
    texts = Texts(sentences=("a cat", "a dog") * 4, names=tuple("12345678"))
    with pytest.raises(ValueError, match="compile is for networks of images and volumes, but the data are"):
        train(make_text_config(), texts, machine=Machine(accelerator="cpu", compile=True))
