"""Active positives in a run: the classifier of each round, and the choice among views in each step."""

import warnings
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from tammes.positives import Active, Boundary, Chosen
from tammes.positives.acceptance import Nearest
from tammes.training.distributed.group import ProcessGroup
from tammes.training.embedding import embed, evaluating
from tammes.training.examples import Examples, Inputs
from tammes.training.model import Model
from tammes.training.sampler import Shard
from tammes.training.seeds import Purpose, derive


class NothingNearWarning(UserWarning):
    """No candidate of a round was within the threshold, so that the nearest ones were taken."""


class NoBoundaryWarning(UserWarning):
    """The classifier of a round has equal weights for all classes, so that its positives are random."""


class ActiveViews(nn.Module):
    """Choice of the second view of each pair among several, by a classifier on the current embedding.

    Candidates are embedded in evaluation mode and without gradient: dropout is off, and running statistics do
    not change. Classifier, threshold and counts are buffers, so that a resumed run chooses as it would have
    chosen without the interruption.

    Args:
        positives: settings of the choice.
        examples: training data.
        dim: dimension of the embeddings.
        seed: seed of the run.
        shard: rows of each batch that this process takes.
        group: processes of the run, of which the first fits the classifier.
        steps_per_epoch: number of steps in an epoch, over which `numbers` are taken.

    Raises:
        ValueError: for missing labels, or more classes than the classifier has images.
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
        shard: Shard,
        group: ProcessGroup,
        steps_per_epoch: int,
    ) -> None:
        super().__init__()
        self.positives = positives
        self.examples = examples
        self.seed = seed
        self.shard = shard
        self.group = group
        self.steps_per_epoch = steps_per_epoch
        self.chosen: Chosen | None = None  # the choice of this step, until it is counted
        classes = class_count(positives, examples)
        self.register_buffer("weight", torch.zeros(classes, dim))
        self.register_buffer("offset", torch.zeros(classes))
        self.register_buffer("threshold", torch.zeros((), dtype=torch.float64))
        # Sums over the epoch so far: anchors, accepted candidates, anchors without one, anchors with a
        # boundary, and for these the distances of the kept view and of all candidates.
        self.register_buffer("sums", torch.zeros(6, dtype=torch.float64))
        self.register_buffer("near", torch.zeros((), dtype=torch.float64))  # accepted in this round
        self.register_load_state_dict_pre_hook(_check_class_count)  # type: ignore[no-untyped-call]

    @staticmethod
    def of(
        positives: object,
        examples: Examples,
        dim: int,
        seed: int,
        shard: Shard,
        group: ProcessGroup,
        steps_per_epoch: int,
    ) -> "ActiveViews | None":
        """Return the choice of a training, None for positives that choose nothing."""
        if not (isinstance(positives, Active) and positives.chooses):
            return None
        return ActiveViews(
            positives,
            examples=examples,
            dim=dim,
            seed=seed,
            shard=shard,
            group=group,
            steps_per_epoch=steps_per_epoch,
        )

    def begin_step(self, step: int, model: Model) -> None:
        """Fit a new classifier if a round begins at this step; every process calls this in every step."""
        if step % self.steps_per_epoch == 0:
            self.sums.zero_()
        positives = self.positives
        if step < positives.warm_up or (step - positives.warm_up) % positives.refresh:
            return
        round_ = positives.round_at(step)
        if round_ > 1 and self._boundary.exists and self.threshold > 0 and self.near == 0:
            self._warn(
                f"no candidate of round {round_ - 1} was within {float(self.threshold):.3g} of the boundary: "
                "the nearest were taken; draw more by increasing candidates, or let the threshold stay "
                "larger",
                NothingNearWarning,
            )
        weight, offset, threshold = self.group.on_first(lambda: self._fitted(round_, model))
        self.weight.copy_(weight)
        self.offset.copy_(offset)
        self.threshold.fill_(threshold)
        self.near.zero_()
        if not self._boundary.exists:
            self._warn(
                f"at step {step} the embeddings had collapsed, and there is no boundary between classes: "
                f"the positives of round {round_} are random; lower the learning rate, or begin with random "
                "positives by increasing warm_up",
                NoBoundaryWarning,
            )

    def _warn(self, message: str, category: type[Warning]) -> None:
        """Warn on the first process only."""
        if self.group.is_first:
            warnings.warn(message, category, stacklevel=3)

    @property
    def _boundary(self) -> Boundary:
        return Boundary(weight=self.weight, offset=self.offset)

    def _fitted(self, round_: int, model: Model) -> tuple[Tensor, Tensor, float]:
        """Return weights, offsets and threshold of a round, fitted to images without augmentation."""
        positives, labels = self.positives, self.examples.labels
        seed = derive(self.seed, Purpose.CLASSIFIER, round_)
        size = min(positives.sample, len(self.examples))
        rows = positives.classes.sample(labels, n=len(self.examples), rows=size, seed=seed)
        _, embeddings = embed(model, self.examples.data.subset(rows.tolist()))
        torch.clear_autocast_cache()  # it holds weights converted without a graph, see GradientCache
        own = None if labels is None else labels[rows]
        boundary = positives.classes.boundary(embeddings, own, seed=seed)
        threshold = float(positives.acceptance.threshold(round_, boundary.distance(embeddings)))
        return boundary.weight, boundary.offset, threshold

    def choose(self, step: int, model: Model, view: Callable[[int], Inputs], *, chunk: int | None) -> Inputs:
        """Choose the second views of a step.

        Args:
            step: number of the step, from 0; during the warm-up candidate 0 is taken.
            model: model that embeds the candidates.
            view: function from the number of a candidate, from 0, to its views.
            chunk: largest number of rows to embed at a time; None for all.

        Raises:
            ValueError: for candidates whose embeddings are not finite.
        """
        positives, shard = self.positives, self.shard
        if positives.round_at(step) == 0:
            return view(0)
        boundary = self._boundary
        # Drawn for the batch of all processes, so that the choice does not depend on their number.
        generator = torch.Generator().manual_seed(derive(self.seed, Purpose.ACCEPTANCE, step))
        draws = torch.rand(shard.batch_size, positives.candidates, generator=generator)[shard.rows]

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
            # With BatchNorm only the candidates may be affected, since its running statistics lag behind.
            raise ValueError(
                f"the embeddings of candidates became NaN or infinite at step {step} (steps count from 0): "
                "lower the learning rate, begin with random positives by increasing warm_up, or look for odd "
                "data"
            )
        return self.chosen.views

    def count_choices(self) -> None:
        """Add the choices of this step to the sums of the epoch; every process calls this in every step."""
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
        of_batch = self.group.means(own, weight=self.shard.size)
        counts = self.sums.new_tensor([1.0, *of_batch.values()]) * self.shard.batch_size
        self.sums += counts
        self.near += counts[1]

    def numbers(self) -> dict[str, float]:
        """Return numbers of the epoch so far: candidates tried and accepted, and mean distances.

        Distances are means over the anchors for which there was a boundary. Without any such anchor they are
        left out, and so is a threshold computed from them.
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


def _check_class_count(views: ActiveViews, state: Mapping[str, Tensor], prefix: str, *others: object) -> None:
    """Refuse labels with another number of classes, which the number and size of images do not reveal."""
    now, before = views.weight.shape, state[f"{prefix}weight"].shape
    if now != before:
        raise ValueError(
            f"the run was started with {before[0]} classes of labels and now there are {now[0]}: give it the "
            "same data, or start a new run"
        )


def class_count(positives: Active, examples: Examples) -> int:
    """Return the number of classes that the boundary separates.

    Raises:
        ValueError: for missing labels, or more classes than the classifier has images.
    """
    return positives.classes.count(examples.labels, rows=min(positives.sample, len(examples)))


def check_active(positives: Active, examples: Examples, *, steps: int) -> None:
    """Check, before anything is written, that a run can choose its positives.

    Args:
        positives: settings of the choice.
        examples: training data.
        steps: number of steps of the whole run.

    Raises:
        ValueError: as `ActiveViews`, and for a warm-up as long as the run.
    """
    class_count(positives, examples)
    if positives.warm_up >= steps:
        raise ValueError(
            f"a warm-up of {positives.warm_up} steps takes the whole run ({steps} steps), and nothing would "
            "be chosen: reduce warm_up, or train for more epochs"
        )
