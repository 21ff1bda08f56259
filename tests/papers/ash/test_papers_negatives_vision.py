"""The vision study: B and k vary and nothing else does, and a study that stops goes on."""

import csv
import dataclasses
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from tammes.data import Images, TensorPixels
from tammes.papers import entries
from tammes.papers.ash import NEGATIVES_VISION as ENTRY
from tammes.papers.ash import vision as module
from tammes.papers.ash import vision_training
from tammes.papers.ash.accuracies import linear
from tammes.papers.ash.vision import cells, findings, grid
from tammes.papers.ash.vision_training import (
    BATCH_SIZES,
    COUNTS,
    PAPER,
    ROUND,
    SmallNet,
    VisionRun,
    VisionScore,
    augmented_pairs,
    epochs_of,
    measurer,
    real_pairs,
    scale_of,
)
from tammes.papers.ash.vision_trends import arms
from tammes.papers.finding import Finding
from tammes.papers.image_sets import published_sets
from tammes.training.seeds import Purpose, derive


def bars(count: int, *, size: int = 28, seed: int = 0) -> Images:
    """A bright row in noise, at a height that tells the class, of which there are four."""
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 60, (count, 1, size, size), dtype=torch.uint8, generator=generator)
    labels = torch.arange(count) % 4
    for row, label in enumerate(labels.tolist()):
        pixels[row, :, 6 * label + 3 : 6 * label + 6] += 180
    names = tuple(f"{row}" for row in range(count))
    return Images(pixels=TensorPixels(pixels), names=names, labels=labels, classes=tuple("abcd"))


def cell(**changes: object) -> VisionRun:
    usual = VisionRun(
        data="bars",
        positives="real",
        batch_size=16,
        k=4,
        seed=0,
        images=40,
        epochs=3,
        encoder="SmallNet",
    )
    return dataclasses.replace(usual, **changes)


def measured(wanted: VisionRun) -> VisionScore:
    scale = dataclasses.replace(scale_of(0.01), images=40)
    return measurer({"bars": (bars(40), bars(20, seed=1))}, scale, rate=1e-3)(wanted)


def write_idx(path: Path, array: np.ndarray) -> None:
    lengths = b"".join(int(length).to_bytes(4) for length in array.shape)
    path.write_bytes(bytes([0, 0, 8, array.ndim]) + lengths + array.astype(np.uint8).tobytes())


def write_mnist(folder: Path, images: Images) -> Path:
    folder.mkdir(parents=True)
    for part in ("train", "t10k"):
        write_idx(folder / f"{part}-images-idx3-ubyte", images.batch(range(len(images)))[:, 0].numpy())
        write_idx(folder / f"{part}-labels-idx1-ubyte", images.required_labels().numpy())
    return folder


# The settings.


def test_the_whole_budget_is_the_paper_s_scale():
    assert scale_of(1.0) is PAPER
    assert (PAPER.epochs, PAPER.learning_rate) == (400, 1e-4)
    assert PAPER.build(3, 32).features == 512


def test_more_budget_is_more_work():
    scales = [scale_of(budget) for budget in (0.001, 0.01, 0.1, 0.5, 0.99)]
    assert [scale.images for scale in scales] == sorted(scale.images for scale in scales)
    assert [scale.epochs for scale in scales] == sorted(scale.epochs for scale in scales)
    assert all(scale.images % ROUND == 0 for scale in scales)


def test_the_grid_has_every_k_that_a_batch_allows_and_no_other():
    whole = grid(ROUND)
    assert all(1 <= k <= 2 * (batch_size - 1) for batch_size, k in whole)
    assert all((batch_size, 2 * (batch_size - 1)) in whole for batch_size in BATCH_SIZES)
    assert {k for _, k in whole} == set(COUNTS)
    assert all(ROUND % batch_size == 0 for batch_size in BATCH_SIZES)


# The positives.


def test_real_positives_are_other_images_of_the_class_unchanged():
    images = bars(40)
    anchors, positives = real_pairs(images, 0)
    known = {images[row][0].numpy().tobytes(): row for row in range(40)}
    pairs = [
        (known[a.numpy().tobytes()], known[p.numpy().tobytes()])
        for a, p in zip(anchors, positives, strict=True)
    ]
    assert len(pairs) == 40
    assert all(a != p and a % 4 == p % 4 for a, p in pairs)
    assert sorted(row for pair in pairs for row in pair) == sorted(2 * list(range(40)))


@pytest.mark.equal_bits
def test_augmented_positives_are_two_views_of_each_image_once():
    images = bars(24)
    anchors, positives = augmented_pairs(images, 0)
    assert anchors.shape == positives.shape == (24, 1, 28, 28)
    assert anchors.dtype == torch.uint8
    order = torch.randperm(24, generator=torch.Generator().manual_seed(derive(0, Purpose.ORDER)))
    whole = images.batch(order.tolist())
    for view in (anchors, positives):
        assert all(not torch.equal(one, other) for one, other in zip(view, whole, strict=True))
    assert not torch.equal(anchors, positives)


@pytest.mark.equal_bits
@pytest.mark.parametrize("positives", ["real", "augmented"])
def test_views_depend_on_seed_and_epoch_alone(positives):
    images = bars(16)
    first, again = epochs_of(images, positives, seed=3), epochs_of(images, positives, seed=3)
    assert torch.equal(first(2)[0], again(2)[0])
    assert first(2)[0] is first(2)[0]
    assert not torch.equal(first(2)[0], first(1)[0])
    assert not torch.equal(first(2)[1], epochs_of(images, positives, seed=4)(2)[1])


# A cell.


@pytest.mark.equal_bits
def test_a_cell_learns_and_gives_the_same_numbers_again():
    wanted = cell(epochs=20)
    score = measured(wanted)
    assert score == measured(wanted)
    assert score.steps == 20 * (40 // 16)
    assert min(score.linear, score.mean) > 0.9  # by chance a quarter
    # A constant map has log(1 + k).
    assert score.loss < 0.9 * np.log(1 + wanted.k)


def test_all_batch_sizes_are_measured_after_the_steps_of_the_largest():
    scale = dataclasses.replace(
        scale_of(0.01), build=lambda channels, size: SmallNet(channels=channels, width=8), images=64
    )
    measure = measurer({"bars": (bars(64), bars(20, seed=1))}, scale, rate=1e-3)
    small, large = (measure(cell(images=64, batch_size=size, epochs=2)) for size in (16, 64))
    assert (small.steps, large.steps) == (8, 2)
    assert (large.linear_early, large.mean_early) == (large.linear, large.mean)
    half = measure(cell(images=64, batch_size=16, epochs=1))  # 4 steps, of which the first is early
    assert half.linear_early != half.linear or half.mean_early != half.mean


# The trends.

SCALE = dataclasses.replace(scale_of(0.1), images=ROUND)


def invented(value, *, untrained=lambda each: 0.1, seeds: int = 3) -> dict[VisionRun, VisionScore]:
    """Accuracies as a function of the cell, which is a little higher for each seed."""
    runs = cells({"CIFAR-10": (bars(ROUND), bars(4)), "MNIST": (bars(ROUND), bars(4))}, SCALE, range(seeds))
    results = {}
    for each in runs:
        accuracy = (value if each.epochs else untrained)(each) + 0.001 * each.seed
        results[each] = VisionScore(
            linear=accuracy,
            mean=accuracy - 0.1,
            linear_early=accuracy,
            mean_early=0.5,
            loss=1.0,
            steps=1,
        )
    return results


def as_in_the_paper(each: VisionRun) -> float:
    if each.positives == "augmented":
        return 0.6 + 1e-4 * each.batch_size + 1e-4 * each.k
    return 0.5 - 1e-4 * each.batch_size if each.data == "CIFAR-10" else 0.9


def verdicts(results: dict[VisionRun, VisionScore]) -> list[str]:
    """Return the verdicts on what the paper states."""
    return [each.verdict for each in findings(arms(results)) if each.effects]


def test_trends_are_read_off_as_they_were_put_in():
    found = arms(invented(lambda each: 0.3 + 0.01 * BATCH_SIZES.index(each.batch_size) + 1e-4 * each.k))
    assert [arm.name for arm in found][:2] == ["CIFAR-10, real positives", "CIFAR-10, augmented positives"]
    for arm in found:
        assert arm.by_batch_size(linear).values == pytest.approx((0.02,) * 3)
        assert arm.by_count(linear).values == pytest.approx((1e-4 * (29 + 125 + 509) / 3,) * 3)
        assert arm.best(linear)[:2] == (256, 510)
        assert arm.best_of_others(linear).tolist() == pytest.approx([0.371, 0.372, 0.373])
        assert arm.learned(linear).difference.mean > 0.2
        assert np.isnan(arm.matrix(linear)[0]).tolist() == [False, False, False, True, True]


def test_findings_follow_the_numbers():
    assert verdicts(invented(as_in_the_paper)) == ["yes"] * 8
    opposite = verdicts(invented(lambda each: 0.9 - as_in_the_paper(each) / 2))
    # Digits stay alike with real positives, and the mean classifier stays behind.
    assert opposite == [*["no"] * 6, "yes", "yes"]


def test_one_seed_has_no_verdict_and_networks_that_learned_nothing_neither():
    assert verdicts(invented(as_in_the_paper, seeds=1)) == ["one seed: no verdict"] * 8
    unlearned = verdicts(invented(as_in_the_paper, untrained=lambda each: 1.0))
    assert len(unlearned) == 8
    assert all(verdict.startswith("no verdict: not above the control") for verdict in unlearned)


def test_settings_that_differ_are_not_alike():
    def worse_in_large_batches(each: VisionRun) -> float:
        return 0.9 - 0.1 * (each.batch_size == 256)

    found = findings(arms(invented(worse_in_large_batches)))
    alike = next(each for each in found if "nearly all" in each.paper)
    assert alike.verdict == "no"


# The whole.


def test_the_study_runs_stops_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = write_mnist(tmp_path / "data" / "mnist", bars(40)).parent
    monkeypatch.setattr(vision_training, "fit", stopping(vision_training.fit, after=2))
    with pytest.raises(KeyboardInterrupt, match="stopped with 2 of 8 cells"):
        ENTRY.reproduce(tmp_path / "out", budget=0.001, seed=0, data=data)
    begun = (tmp_path / "out" / "table.csv").read_text(encoding="utf-8")
    monkeypatch.undo()
    ENTRY.reproduce(tmp_path / "out", budget=0.001, seed=0, data=data)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "figure.svg",
        "findings.json",
        "report.html",
        "study.json",
        "table.csv",
    ]
    table = (tmp_path / "out" / "table.csv").read_text(encoding="utf-8")
    assert table.startswith(begun)
    rows = list(csv.DictReader(table.splitlines()))
    assert [(row["positives"], row["k"]) for row in rows] == [
        (positives, k) for positives in ("real", "augmented") for k in ("1", "1", "4", "30")
    ]
    assert all(0 <= float(row["linear"]) <= 1 for row in rows)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert ENTRY.statement in page
    assert "(MNIST stands in.)" in page
    assert str(tmp_path) not in page


def test_without_learning_no_statement_is_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[Finding] = []
    scale = dataclasses.replace(
        scale_of(0.001), build=lambda channels, size: SmallNet(channels=channels, width=4), images=64
    )
    monkeypatch.setattr(module, "scale_of", lambda budget: scale)
    sets = {"CIFAR-10": (bars(64), bars(40, seed=1)), "MNIST": (bars(32), bars(40, seed=1))}
    monkeypatch.setattr(module, "published_sets", lambda data, wanted: sets)
    monkeypatch.setattr(module, "page", lambda found, scale: seen.extend(findings(found)))
    ENTRY.reproduce(tmp_path / "out", budget=0.001, seed=0, seeds=3, data=tmp_path, learning=False)
    stated = [each.verdict for each in seen if each.effects]
    assert len(stated) == 7  # 32 images have one batch size
    assert all(verdict.startswith("no verdict: not above the control") for verdict in stated), stated


def stopping(fit, *, after: int):
    """Measure `after` runs, then press Ctrl-C."""
    done = []

    def stopped(wanted: VisionRun, *rest: object, **options: object) -> VisionScore:
        if len(done) == after:
            raise KeyboardInterrupt
        done.append(wanted)
        return fit(wanted, *rest, **options)

    return stopped


def test_sets_are_found_beside_each_other_and_svhn_goes_before_mnist(tmp_path: Path):
    from scipy.io import savemat

    sets_at = partial(published_sets, wanted=ENTRY.data)
    write_mnist(tmp_path / "digits", bars(40))
    assert list(sets_at(tmp_path)) == list(sets_at(tmp_path / "digits")) == ["MNIST"]
    (tmp_path / "numbers").mkdir()
    arrays = {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.array([[10], [3]])}
    for part in ("train", "test"):
        savemat(tmp_path / "numbers" / f"{part}_32x32.mat", arrays)
    assert list(sets_at(tmp_path)) == ["SVHN"]
    shutil.rmtree(tmp_path / "numbers")
    shutil.rmtree(tmp_path / "digits")
    with pytest.raises(ValueError, match=r"expected in .* CIFAR-10 .*SVHN .*found none of them"):
        ENTRY.reproduce(tmp_path / "out", budget=0.001, seed=0, data=tmp_path)


def test_the_first_seed_comes_first():
    sets = {"bars": (bars(40), bars(20))}
    wanted = cells(sets, dataclasses.replace(scale_of(0.1), images=None), range(5, 8))
    assert [each.seed for each in wanted] == sorted(each.seed for each in wanted)
    assert {each.seed for each in wanted} == {5, 6, 7}
    with pytest.raises(ValueError, match="at least 16 images"):
        cells({"bars": (bars(12), bars(12))}, PAPER, [0])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_the_whole_budget_asks_for_a_gpu(tmp_path: Path):
    with pytest.raises(ValueError, match=r"no GPU here: choose budget 0\.1"):
        ENTRY.reproduce(tmp_path / "out", budget=1.0, seed=0, data=tmp_path)
    assert not (tmp_path / "out").exists()


def test_it_is_an_entry():
    assert ENTRY in entries()
