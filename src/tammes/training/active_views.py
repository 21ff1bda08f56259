"""Active positives in a run: the classifier of the round, and what is chosen by it in a step."""

import warnings
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from tammes.positives import Active, Boundary, Chosen
from tammes.positives.acceptance import Nearest
from tammes.training.embedding import embed, evaluating
from tammes.training.examples import Examples, Inputs
from tammes.training.model import Model
from tammes.training.order import Portion
from tammes.training.peers import Peers
from tammes.training.seeds import Purpose, derive


class NothingNearWarning(UserWarning):
    """In a whole round no candidate was within the threshold: the nearest were taken."""


class NoBoundaryWarning(UserWarning):
    """The classifier of a round has the same weights for all classes: its positives are random ones."""


class ActiveViews(nn.Module):
    """Chooses the second view of each pair among several, by a classifier on the present embedding.

    Candidates are embedded in evaluation mode and without gradient, so that running statistics stay as
    they are and dropout is off. Classifier, threshold and counts are buffers: a run that goes on from a
    checkpoint chooses as it would have chosen.

    Args:
        positives: how they are chosen.
        examples: what the run learns from.
        dim: of the embeddings.
        seed: of the run.
        portion: the rows of each batch that come here.
        peers: the processes that have the others; the first of them makes the classifier.
        steps_per_epoch: counts are those of an epoch.

    Raises:
        ValueError: for labels that are missing, or more classes than the classifier has images.
    """

    weight: Tensor
    offset: Tensor
    threshold: Tensor
    sums: Tensor
    near: Tensor

    def __init__(
        self,
        positives: Active,
        *,
        examples: Examples,
        dim: int,
        seed: int,
        portion: Portion,
        peers: Peers,
        steps_per_epoch: int,
    ) -> None:
        super().__init__()
        self.positives = positives
        self.examples = examples
        self.seed = seed
        self.portion = portion
        self.peers = peers
        self.steps_per_epoch = steps_per_epoch
        self.chosen: Chosen | None = None  # and not yet counted
        classes = class_count(positives, examples)
        self.register_buffer("weight", torch.zeros(classes, dim))
        self.register_buffer("offset", torch.zeros(classes))
        self.register_buffer("threshold", torch.zeros((), dtype=torch.float64))
        # Of the epoch so far: anchors, accepted candidates, anchors without one, anchors for which there
        # was a boundary, and their distances kept and drawn.
        self.register_buffer("sums", torch.zeros(6, dtype=torch.float64))
        self.register_buffer("near", torch.zeros((), dtype=torch.float64))  # accepted, in this round
        self.register_load_state_dict_pre_hook(_expect_as_many_classes)  # type: ignore[no-untyped-call]

    def begin(self, step: int, model: Model) -> None:
        """Make the classifier of a round, where one begins; every process calls this at the same time."""
        if step % self.steps_per_epoch == 0:
            self.sums.zero_()
        positives = self.positives
        if step < positives.warm_up or (step - positives.warm_up) % positives.refresh:
            return
        round_ = positives.round_at(step)
        if round_ > 1 and self._boundary.exists and self.threshold > 0 and self.near == 0:
            self._warn(
                f"no candidate of round {round_ - 1} was within {float(self.threshold):.3g} of the boundary: "
                "the nearest were taken; draw more (--positives.candidates), or let the threshold stay "
                "larger",
                NothingNearWarning,
            )
        weight, offset, threshold = self.peers.by_first(lambda: self._fitted(round_, model))
        self.weight.copy_(weight)
        self.offset.copy_(offset)
        self.threshold.fill_(threshold)
        self.near.zero_()
        if not self._boundary.exists:
            self._warn(
                f"at step {step} the embeddings had collapsed, and there is no boundary between classes: "
                f"the positives of round {round_} are random; lower the learning rate, or begin with random "
                "positives (--positives.warm-up)",
                NoBoundaryWarning,
            )

    def _warn(self, words: str, category: type[Warning]) -> None:
        """Say it once, not on each process."""
        if self.peers.first:
            warnings.warn(words, category, stacklevel=3)

    @property
    def _boundary(self) -> Boundary:
        return Boundary(weight=self.weight, offset=self.offset)

    def _fitted(self, round_: int, model: Model) -> tuple[Tensor, Tensor, float]:
        """Weights, offsets and threshold of a round, from images as they are."""
        positives, labels = self.positives, self.examples.labels
        seed = derive(self.seed, Purpose.CLASSIFIER, round_)
        size = min(positives.sample, len(self.examples))
        rows = positives.classes.sample(labels, n=len(self.examples), rows=size, seed=seed)
        _, embeddings = embed(model, self.examples.data.subset(rows.tolist()))
        torch.clear_autocast_cache()  # of weights converted without a graph, see GradientCache
        own = None if labels is None else labels[rows]
        boundary = positives.classes.boundary(embeddings, own, seed=seed)
        threshold = float(positives.acceptance.threshold(round_, boundary.distance(embeddings)))
        return boundary.weight, boundary.offset, threshold

    def choose(self, step: int, model: Model, view: Callable[[int], Inputs], *, chunk: int | None) -> Inputs:
        """The second views of a step.

        Args:
            step: from 0; in the warm-up there is nothing to choose.
            model: by which candidates are embedded.
            view: makes the candidate of a number, from 0.
            chunk: the most rows that are embedded at a time; None for all.

        Raises:
            ValueError: For candidates whose embeddings are not finite.
        """
        positives, portion = self.positives, self.portion
        if positives.round_at(step) == 0:
            return view(0)
        boundary = self._boundary
        # Drawn for the batch of all processes, so that a row's fate does not depend on how many there are.
        generator = torch.Generator().manual_seed(derive(self.seed, Purpose.ACCEPTANCE, step))
        draws = torch.rand(portion.batch_size, positives.candidates, generator=generator)[portion.rows]

        def distance(images: Tensor) -> Tensor:
            parts = images.split(chunk or len(images))
            return boundary.distance(torch.cat([model(part)[1] for part in parts]).to(self.weight.dtype))

        with torch.no_grad(), evaluating(model):
            self.chosen = positives.choose(
                (_images(view(number)) for number in range(positives.candidates)),
                distance,
                threshold=float(self.threshold),
                draws=draws.to(self.weight.device),
            )
        torch.clear_autocast_cache()
        if self.chosen.drawn.isnan().any():
            # Of a network with BatchNorm it may be these alone: its running statistics lag behind.
            raise ValueError(
                f"the embeddings of candidates became NaN or infinite at step {step} (steps count from 0): "
                "lower the learning rate, let random positives come first (--positives.warm-up), or look for "
                "odd data"
            )
        return self.chosen.views

    def count(self) -> None:
        """Add what was chosen to the numbers of the epoch; every process calls this at the same time."""
        chosen, self.chosen = self.chosen, None
        if chosen is None:
            return
        measured = chosen.drawn.isfinite()
        means = {
            "accepted": chosen.accepted,
            "none": chosen.accepted == 0,
            "measured": measured,
            "kept": chosen.distance.where(measured, 0.0),
            "drawn": chosen.drawn.where(measured, 0.0),
        }
        own = {name: float(values.double().mean()) for name, values in means.items()}
        everyones = self.peers.means(own, weight=self.portion.size)
        added = self.sums.new_tensor([1.0, *everyones.values()]) * self.portion.batch_size
        self.sums += added
        self.near += added[1]

    def numbers(self) -> dict[str, float]:
        """Of the epoch so far: candidates tried and accepted, anchors without an accepted one, distances.

        Distances are means over the anchors for which there was a boundary. Where there was none they are
        left out, and so is a threshold that follows from such distances.
        """
        anchors, accepted, without, measured, kept, drawn = self.sums.tolist()
        if anchors == 0:
            return {}
        numbers = {"tries": anchors * self.positives.candidates}
        if measured:
            numbers |= {"distance_drawn": drawn / measured, "distance_kept": kept / measured}
        if not isinstance(self.positives.acceptance, Nearest):
            if self.threshold.isfinite():
                numbers["threshold"] = float(self.threshold)
            numbers |= {"accepted": accepted, "none_accepted": without}
        return numbers


def _images(views: Inputs) -> Tensor:
    assert isinstance(views, Tensor)  # the configuration refuses others
    return views


def _expect_as_many_classes(
    views: ActiveViews, state: Mapping[str, Tensor], prefix: str, *others: object
) -> None:
    """Other labels than those that the run began with are not told by the number and size of images."""
    now, before = views.weight.shape, state[f"{prefix}weight"].shape
    if now != before:
        raise ValueError(
            f"the run was begun with {before[0]} classes of labels and now there are {now[0]}: give it the "
            "same data, or start a new run"
        )


def class_count(positives: Active, examples: Examples) -> int:
    """How many classes the boundary lies between.

    Raises:
        ValueError: for labels that are missing, or more classes than the classifier has images.
    """
    return positives.classes.count(examples.labels, rows=min(positives.sample, len(examples)))


def expect_possible(positives: Active, examples: Examples, *, steps: int) -> None:
    """Refuse, before anything is written, what could not be chosen by.

    Args:
        positives: how they are chosen.
        examples: what the run learns from.
        steps: of the whole run.

    Raises:
        ValueError: as `ActiveViews` does, and for a warm-up that is all of the run.
    """
    class_count(positives, examples)
    if positives.warm_up >= steps:
        raise ValueError(
            f"a warm-up of {positives.warm_up} steps is all of the run ({steps} steps), and nothing would be "
            "chosen: shorten it (--positives.warm-up), or train for more epochs"
        )
