from typing import Any

import pytest
import torch

from tammes.cli.floors import LARGEST_SIDE, floors, pixels, weighted_words
from tammes.cli.options.data import Split
from tammes.cli.outcome import confusion
from tammes.cli.scores import Measure, Measured, Trial, at_most, knn_of, score_table
from tammes.data import Images, TensorPixels, Texts, as_floats
from tammes.evaluation import KNN, LabeledFeatures, LinearProbe
from tammes.report import Scores
from tammes.training import ImagesSummary, Model, Run, RunConfig, build_model
from tiny import make_config, random_images, random_texts


def test_the_mean_is_over_what_was_measured() -> None:
    trial = Trial(
        name="a",
        measured=(Measured(scores=Scores(knn=0.5, probe=0.2)), Measured(scores=Scores(knn=0.75))),
    )
    assert trial.mean == Scores(knn=0.625, probe=0.2)
    assert trial.floor.seeds == trial.scores


def test_a_table_without_test_rows_has_no_accuracies() -> None:
    rows = [("hcl", [Scores()], ["1.5"])]
    table = score_table(random_images(4), "objective", rows, test_rows=0, more=["seconds"])
    assert [str(column.header) for column in table.columns] == ["objective", "seconds"]
    assert table.caption is None
    measured = score_table(random_images(4), "objective", rows, test_rows=8, more=["seconds"])
    assert "held out of training" in str(measured.caption)


def test_floors_are_one_untrained_encoder_for_each_seed_and_the_pixels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    images = random_images(22)
    config = RunConfig(training=make_config(), data=ImagesSummary.of(images, "noise"))
    measure = Measure(train=images, test=random_images(8, seed=1))
    run = Run(config=config, model=build_model(config), metrics=())
    built: list[Model] = []

    def build(*given: Any) -> Model:
        built.append(build_model(*given))
        return built[-1]

    monkeypatch.setattr("tammes.cli.floors.build_model", build)
    untrained, raw = floors(images, [run, run], measure, torch.device("cpu"))
    assert len(built) == 2
    assert (untrained.name, raw.name) == ("untrained encoder", "raw pixels")
    assert untrained.scores[0] == untrained.scores[1]
    # One class is brighter in its upper half, which a linear map of the pixels sees.
    assert raw.scores[0].probe == 1.0


def test_accuracies_are_those_of_the_labels_that_are_given() -> None:
    images, texts = random_images(60), random_texts()
    for train, test in ((images, random_images(20, seed=1)), (texts, random_texts(seed=1))):
        measure = Measure(train=train, test=test)
        generator = torch.Generator().manual_seed(0)
        rows = {id(data): torch.randn(len(data), 6, generator=generator) for data in (train, test)}
        measured = measure.of_features(lambda data, rows=rows: rows[id(data)])
        scores, labels = measured.scores, measured.labels
        counts = confusion([labels, labels], test)
        classes = len(test.classes or ())
        assert counts.shape == (classes, classes)
        assert counts.sum(axis=1).tolist() == (2 * test.required_labels().bincount()).tolist()
        right = scores.probe if isinstance(test, Images) else scores.linear
        assert counts.trace() / counts.sum() == pytest.approx(right)
        assert 0 < counts.trace() < counts.sum()
        assert sum(measured.right) / len(test) == scores.knn


@pytest.mark.parametrize(("rows", "shares"), [(22, [1.0, 0.1]), (60, [1.0, 0.1, 0.01])])
def test_shares_that_are_the_same_labels_are_measured_once(
    rows: int, shares: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    probes: list[LinearProbe] = []
    fitted = LinearProbe._labels
    monkeypatch.setattr(
        LinearProbe, "_labels", lambda self, *data: (probes.append(self), fitted(self, *data))[1]
    )
    measure = Measure(train=random_images(rows), test=random_images(20, seed=1))
    scores = measure.of_features(pixels).scores
    assert [probe.fraction for probe in probes] == shares[:1] + [
        each for each in shares[1:] for _ in range(10)
    ]
    assert measure.draws_alike == (len(shares) == 2)
    for share, found in ((0.1, scores.probe_10_percent), (0.01, scores.probe_1_percent)):
        train, test = (
            LabeledFeatures(features=pixels(data), labels=data.required_labels())
            for data in (measure.train, measure.test)
        )
        accuracies = [LinearProbe(fraction=share, seed=seed).accuracy(train, test) for seed in range(10)]
        assert found == pytest.approx(sum(accuracies) / 10)


def test_a_measure_of_a_part_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    images = random_images(40)
    assert Measure.of(images, images).extent is None
    assert Measure(train=images, test=images).extent is None
    monkeypatch.setattr("tammes.cli.scores.MOST_MEASURED", 10)
    part = Measure.of(images, random_images(8))
    assert part.extent == "on 8 of 8 held-out rows, with 10 of 40 rows to learn from, drawn at random"


def test_the_vote_is_that_of_the_command_line() -> None:
    images, test = random_images(60), random_images(20, seed=1)
    assert knn_of(Split(data="x")) is None
    assert knn_of(Split(data="x", neighbors=7)) == KNN(neighbors=7)
    assert knn_of(Split(data="x", neighbor_temperature=0.1)) == KNN(neighbors=20, temperature=0.1)
    chosen = Measure.of(images, test, KNN(neighbors=50, temperature=0.01))
    assert chosen.monitor(every=2).classifier == chosen.neighbors == KNN(neighbors=50, temperature=0.01)
    assert Measure.of(images, test).monitor(every=2).classifier == KNN(neighbors=20)
    # Of 50 neighbors at least 20 are of the other class; sharp weights leave it to the nearest.
    assert chosen.of_features(pixels).scores.knn == 1.0
    with pytest.raises(ValueError, match=r"neighbors must be at most .* got 200 neighbors and 60 points"):
        Measure.of(images, test, KNN(neighbors=200))
    with pytest.raises(ValueError, match="--neighbors must be an integer of at least 1, got 0"):
        Split(data="x", neighbors=0)
    with pytest.raises(ValueError, match="--neighbor-temperature must be a finite number above 0, got 0"):
        Split(data="x", neighbor_temperature=0)


def test_small_images_are_their_own_features_and_large_ones_are_averaged() -> None:
    small = random_images(3)
    assert torch.equal(pixels(small), as_floats(small.batch(range(3))).flatten(1))
    drawn = torch.randint(0, 256, (2, 3, 4 * LARGEST_SIDE, 4 * LARGEST_SIDE), dtype=torch.uint8)
    large = Images(pixels=TensorPixels(drawn), names=("a", "b"))
    averaged = as_floats(drawn).unfold(2, 4, 4).unfold(3, 4, 4).mean(dim=(4, 5)).flatten(1)
    torch.testing.assert_close(pixels(large), averaged)


def test_a_part_of_the_images_holds_all_classes() -> None:
    images = random_images(40)
    by_class = images.subset(sorted(range(40), key=lambda row: int(images.required_labels()[row])))
    part = at_most(by_class, 10)
    assert part.names == at_most(by_class, 10).names
    assert set(part.required_labels().tolist()) == {0, 1}
    assert at_most(images, 40) is images


def test_words_have_no_more_dimensions_than_there_are_words() -> None:
    few = Texts.of(["rain again", "sun", "rain and sun", "again and again"])
    features = weighted_words(few, 256)
    assert features is not None
    assert features(few).shape == (4, 4)
    assert weighted_words(Texts.of(["rain", "rain rain", "I"]), 256) is None
