"""The protocols of `tammes evaluate` beside the linear one: fine-tuning, few-shot and robustness."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from tammes.cli.failures import print_line
from tammes.cli.options.evaluate import CORRUPTED, DRAWS, SHOTS, Evaluate
from tammes.cli.output import counted
from tammes.cli.resizing import at_size
from tammes.cli.rotations import BY_NAME, known_augmentation
from tammes.cli.scores import OF_IMAGES, OF_TEXTS, at_most, encoded
from tammes.data import Images, Texts, folder
from tammes.estimate import Estimate
from tammes.evaluation import (
    FewShot,
    FineTuning,
    ImageClassifier,
    ImageReadout,
    LabeledFeatures,
    LinearProbe,
    Robustness,
    encoder_for_size,
    measure_shift,
)
from tammes.evaluation.few_shot import check_shots
from tammes.evaluation.fine_tuned import device_of
from tammes.evaluation.fine_tuning import CROPS_AND_FLIPS
from tammes.evaluation.image_classifier import named, share
from tammes.evaluation.layers import layers_of
from tammes.evaluation.shift import shared_classes
from tammes.positives import Handwriting, Photographs
from tammes.report import Scores
from tammes.report.evaluation import Result
from tammes.training import Data, ImagesSummary, Run
from tammes.training.environment import is_slower_in
from tammes.training.examples import readable

FINE_TUNING, FEW_SHOT, ROBUSTNESS = "fine-tuning", "few-shot", "robustness, "
"""Protocols of results; the name of a classifier follows the last."""
READOUT = "linear readout"


@dataclass(frozen=True, kw_only=True, eq=False)
class Classified:
    """A classifier of images with the test images of its size."""

    name: str
    classifier: ImageClassifier
    test: Images
    shifted: dict[str, Images]


@dataclass(kw_only=True, eq=False)
class Protocols:
    """The protocols of an evaluation, all of whose settings are checked before anything is measured.

    Args:
        choice: what the command line chooses.
        run: the run, its model on the device.
        train: labeled data to learn from.
        test: labeled data to measure on.

    Raises:
        ValueError: a protocol for data of another kind, fewer rows of a class than shots, an unknown
            corruption, a set whose classes do not match, or a size that the encoder does not take.
    """

    choice: Evaluate
    run: Run
    train: Data
    test: Data

    def __post_init__(self) -> None:
        choice, summary = self.choice, self.run.config.data
        for protocol in ("finetune", "robustness"):
            if protocol in choice.protocol and not isinstance(self.train, Images):
                raise ValueError(
                    f"--protocol {protocol} is for images, but {choice.source.data} holds none: leave it out "
                    "(linear and few-shot are for all data with labels)"
                )
        self.shots = choice.shots or SHOTS
        if "few-shot" in choice.protocol:
            check_shots(self.train.required_labels(), max(self.shots), self.train.classes)
        self.said: list[str] = []
        self.results: list[Result] = []
        self.shifted: dict[int, dict[str, Images]] = {}
        if isinstance(summary, ImagesSummary):
            self._prepare_images(summary)

    def _prepare_images(self, summary: ImagesSummary) -> None:
        """Check what concerns images, and load them at other sizes."""
        choice = self.choice
        assert isinstance(self.train, Images)
        assert isinstance(self.test, Images)
        self.robustness = Robustness(corruptions=choice.corruption, seed=choice.seed)
        self.robustness.names(summary.channels)
        size = summary.size if choice.size is None else choice.size
        self.images, self.tested, self.encoder = self.train, self.test, self.run.model.encoder
        if size != summary.size:
            self.encoder, clause = encoder_for_size(self.encoder, channels=summary.channels, size=size)
            self.images, self.tested = at_size(choice.source, self.train, self.test, size)
            self.said.append(
                f"Fine-tuned at {size} pixels instead of the {summary.size} of the run: {clause}."
            )
        assert self.train.classes is not None
        for each in {summary.size, size} if choice.shift else ():
            sets = {
                str(path): folder(path, size=each, channels=summary.channels) for path in choice.shift or ()
            }
            for path, images in sets.items():
                _check_classes(path, self.train.classes, images)
            self.shifted[each] = sets

    def measure(self) -> dict[str, Any]:
        """Measure all protocols but the linear one, and return the numbers for JSON."""
        numbers: dict[str, Any] = {}
        classifiers = []
        if "finetune" in self.choice.protocol:
            classifiers.append(self._fine_tuned(numbers))
        if "few-shot" in self.choice.protocol:
            numbers["few_shot"] = self._few_shot()
        if "robustness" in self.choice.protocol:
            assert isinstance(self.train, Images)
            assert isinstance(self.test, Images)
            readout = LinearProbe().fit(self._features(self.train))
            shifted = self.shifted.get(self.test.size, {})
            classifier = ImageReadout(features=encoded(self.run.model), readout=readout)
            classifiers.insert(
                0, Classified(name=READOUT, classifier=classifier, test=self.test, shifted=shifted)
            )
            numbers["robustness"] = {each.name: self._robustness(each) for each in classifiers}
        return numbers

    def record_linear(self, scores: Scores) -> None:
        """Add the results of the linear protocol, which were measured before."""
        columns = OF_TEXTS if isinstance(self.test, Texts) else OF_IMAGES
        linear = []
        for title, field in columns.items():
            value = getattr(scores, field)
            if value is not None:
                name = f"linear probe, {title} of the labels" if title.endswith("%") else title
                linear.append(self._result(Estimate.of_share(value, len(self.test)), "linear", name))
        self.results[:0] = linear

    def _fine_tuned(self, numbers: dict[str, Any]) -> Classified:
        """Train the encoder with a head, and measure it."""
        choice, images = self.choice, readable(self.images)
        assert isinstance(images, Images)
        augmentation, precision = self._augmentation(), self.run.config.training.precision
        if is_slower_in(precision, device_of(self.encoder)):
            self.said.append(
                "Fine-tuned in float32: this processor is far slower in bfloat16, in which the run trained."
            )
            precision = "32-true"
        settings = FineTuning.suited(
            len(images),
            epochs=choice.epochs,
            augmentation=augmentation,
            precision=precision,
            seed=choice.seed,
        )
        begun = time.perf_counter()
        tuned = settings.fit(
            self.encoder,
            images,
            on_epoch=lambda epoch, loss: print_line(
                f"fine-tuning: epoch {epoch}/{settings.epochs}, loss {loss:.3f}"
            ),
        )
        seconds = time.perf_counter() - begun
        right = named(tuned, self.tested) == self.tested.required_labels()
        at_size = "" if self.encoder is self.run.model.encoder else f", at {images.size} pixels"
        learned_from = f"all labels, {counted(settings.epochs, 'epoch')}{at_size}"
        found = self._result(share(right), FINE_TUNING, learned_from)
        changes = "unchanged images" if augmentation is None else f"images changed as {augmentation!r}"
        layers = counted(len(layers_of(self.encoder)), "layer")
        self.said.append(
            f"Fine-tuned in {seconds:.0f} s on {counted(len(images), 'image')} with settings that were fixed "
            f"beforehand: {counted(settings.epochs, 'epoch')} of batches of {settings.batch_size}, AdamW at "
            f"{settings.learning_rate:.2g} for the head and {settings.layer_decay:g} times that for each of "
            f"{layers} before it in turn, {changes}. The last epoch is measured; no held-out row decided "
            "anything."
        )
        numbers["finetune"] = {
            "accuracy": _numbers(found.estimate),
            "seconds": seconds,
            "size": images.size,
            "settings": {
                name: value if isinstance(value, int | float | None) else repr(value)
                for name, value in vars(settings).items()
            },
        }
        shifted = self.shifted.get(images.size, {})
        return Classified(name="fine-tuned", classifier=tuned, test=self.tested, shifted=shifted)

    def _augmentation(self) -> Photographs | Handwriting | None:
        """Return the run's own augmentation without its colors, or the one that was named."""
        name = self.choice.augmentation
        known = known_augmentation(self.run.config.training) if name is None else BY_NAME[name]
        if not isinstance(known, Photographs):
            return known
        return dataclasses.replace(
            CROPS_AND_FLIPS, smallest_crop=known.smallest_crop, flip_probability=known.flip_probability
        )

    def _few_shot(self) -> list[dict[str, Any]]:
        draws = DRAWS if self.choice.draws is None else self.choice.draws
        train, test = self._features(self.train), self._features(self.test)
        found = []
        for shots in self.shots:
            estimate = FewShot(shots=shots, draws=draws, seed=self.choice.seed).accuracy(train, test)
            noun = "image" if isinstance(self.test, Images) else "row"
            name = f"{counted(shots, noun)} of each class"
            # Where all draws have the same accuracy, the interval is over the test rows.
            over_rows = estimate.is_known and min(estimate.values) == max(estimate.values)
            over = None if over_rows else f"{counted(draws, 'draw')} of them"
            self._result(estimate, FEW_SHOT, name, over=over)
            found.append({"shots": shots, "accuracy": _numbers(estimate), "draws": list(estimate.values)})
        return found

    def _robustness(self, each: Classified) -> dict[str, Any]:
        """Measure a classifier on corrupted images and on other sets."""
        most = CORRUPTED if self.choice.corrupted is None else self.choice.corrupted
        some = readable(at_most(each.test, most))
        assert isinstance(some, Images)
        if len(some) < len(each.test):
            self.said.append(f"Corrupted {len(some):,} of {len(each.test):,} test images, drawn at random.")
        scores = self.robustness.measure(
            each.classifier,
            some,
            on_corruption=lambda name: print_line(f"robustness of the {each.name}: {name}"),
        )
        protocol, over = ROBUSTNESS + each.name, counted(len(some), "test image")
        self._result(scores.clean, protocol, "clean", over=over)
        corruptions = {}
        for name in scores.corrupted:
            parts = [at.mean for at in scores.at(name)]
            self._result(scores.of(name), protocol, name, over=over, parts=parts)
            corruptions[name] = {"accuracy": _numbers(scores.of(name)), "by_severity": parts}
        self._result(scores.mean, protocol, "mean of all corruptions", over=over)
        if scores.fall is not None:
            self._result(scores.fall, protocol, "relative fall", over=over)
        return {
            "images": len(some),
            "clean": _numbers(scores.clean),
            "mean": _numbers(scores.mean),
            "fall": None if scores.fall is None else _numbers(scores.fall),
            "corruptions": corruptions,
            "shifts": {path: self._shift(each, path, images) for path, images in each.shifted.items()},
        }

    def _shift(self, each: Classified, path: str, images: Images) -> dict[str, Any]:
        scores = measure_shift(each.classifier, each.test, images)
        protocol, classes = ROBUSTNESS + each.name, scores.classes
        over = counted(len(scores.shifted), "image")
        usual = counted(len(scores.right), "test image")
        self._result(scores.accuracy, protocol, path, over=over)
        self._result(scores.clean, protocol, f"test images of the classes of {path}", over=usual)
        if scores.fall is not None:
            self._result(scores.fall, protocol, f"relative fall to {path}", over=f"{over}, {usual}")
        assert self.test.classes is not None
        if classes < len(self.test.classes):
            self.said.append(
                f"{path} has {classes} of {len(self.test.classes)} classes: logits were restricted to these, "
                f"for the test images as well."
            )
        return {
            "classes": classes,
            "accuracy": _numbers(scores.accuracy),
            "clean": _numbers(scores.clean),
            "fall": None if scores.fall is None else _numbers(scores.fall),
        }

    def _features(self, data: Data) -> LabeledFeatures:
        return LabeledFeatures(features=encoded(self.run.model)(data), labels=data.required_labels())

    def _result(
        self,
        estimate: Estimate,
        protocol: str,
        name: str,
        *,
        over: str | None = None,
        parts: Sequence[float] = (),
    ) -> Result:
        """Keep a result, by default with an interval over the test rows."""
        noun = "test image" if isinstance(self.test, Images) else "test row"
        source = self.choice.source
        data = source.data if source.test is None else f"{source.data}, tested on {source.test}"
        found = Result.of(
            estimate,
            protocol=protocol,
            name=name,
            over=counted(len(self.test), noun) if over is None else over,
            data=data,
            parts=parts,
            replaces_protocol=protocol.startswith(ROBUSTNESS),
        )
        self.results.append(found)
        return found

    def tables(self) -> list[Table]:
        """Return the results as tables for the terminal: one of accuracies, one of robustness."""
        simple = [each for each in self.results if each.protocol in (FINE_TUNING, FEW_SHOT)]
        robust = [each for each in self.results if each.protocol.startswith(ROBUSTNESS)]
        tables = []
        if simple:
            table = Table(caption="accuracies in per cent with 95 % intervals")
            for title in ("protocol", "learned from", "accuracy", "interval over"):
                table.add_column(title, justify="right" if title == "accuracy" else "left")
            for each in simple:
                estimate = each.estimate
                accuracy = estimate.percent if estimate.is_known else f"{100 * each.mean:.1f} (no interval)"
                table.add_row(each.protocol, each.name, accuracy, each.over)
            tables.append(table)
        if robust:
            protocols = list(dict.fromkeys(each.protocol for each in robust))
            table = Table(caption="accuracies and relative falls in per cent with 95 % intervals over images")
            table.add_column("robustness", overflow="fold")
            for protocol in protocols:
                table.add_column(protocol.removeprefix(ROBUSTNESS), justify="right")
            for name in dict.fromkeys(each.name for each in robust):
                found = {each.protocol: each.estimate.percent for each in robust if each.name == name}
                table.add_row(name, *(found.get(protocol, "-") for protocol in protocols))
            tables.append(table)
        return tables


def _check_classes(path: str, known: Sequence[str], images: Images) -> None:
    try:
        images.required_labels()
        assert images.classes is not None
        shared_classes(known, images.classes)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _numbers(estimate: Estimate) -> dict[str, float | None]:
    """Return the mean and the ends of the interval; None for ends that are unknown."""
    low, high = (estimate.low, estimate.high) if estimate.is_known else (None, None)
    return {"mean": estimate.mean, "low": low, "high": high}
