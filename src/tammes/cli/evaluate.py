"""`tammes evaluate`: how good a trained encoder is."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro
from rich.console import Console

from tammes.cli.device import Accelerator, device_of
from tammes.cli.images import Split
from tammes.cli.measure import Measure, at_most, encoded
from tammes.cli.table import score_cells, score_table
from tammes.data import Images
from tammes.diagnostics import alignment, uniformity
from tammes.training import ImagesSummary, Run, embed, load_run
from tammes.training.embedding import embed_pairs
from tammes.training.seeds import Purpose, derive

MOST_PAIRS = 2_000


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure a trained encoder on labeled images.

    tammes evaluate runs/mine --data FOLDER --test FOLDER

    The classifiers learn from the images of --data and are tried on those of --test, or on the part that is
    held out of --data. Training on the same folder with the same --held-out left out the same images.

    Args:
        run: The run's folder.
        images: What to measure on.
        json: Print one JSON object instead of a table.
        accelerator: What to compute on; auto takes a GPU where there is one.
    """

    run: tyro.conf.Positional[Path]
    images: Annotated[Split, tyro.conf.arg(name="")]
    json: bool = False
    accelerator: Accelerator = "auto"


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes evaluate`."""
    choice = tyro.cli(
        Evaluate, prog="tammes evaluate", args=arguments, config=(tyro.conf.FlagCreatePairsOff,)
    )
    run = load_run(choice.run)
    shape = run.config.data
    assert isinstance(shape, ImagesSummary)
    train, test = choice.images.load_split(size=shape.size, channels=shape.channels)
    if test is None:
        raise ValueError(
            f"there is nothing to measure on: {choice.images.data} has no labels (a folder for each class "
            "gives them), or --held-out is 0; name labeled images by --test"
        )
    train.required_labels()
    run.model.to(device_of(choice.accelerator))
    scores = Measure(train=train, test=test).scores(encoded(run.model))
    aligned, uniform = _on_the_sphere(run, test)
    if choice.json:
        numbers = {**dataclasses.asdict(scores), "alignment": aligned, "uniformity": uniform}
        print(json.dumps({"run": str(choice.run), "data": choice.images.data, **numbers}))
        return
    table = score_table("encoder", "alignment", "uniformity")
    table.add_row(str(choice.run), *score_cells(scores), f"{aligned:.3f}", f"{uniform:.3f}")
    Console().print(table)


def _on_the_sphere(run: Run, images: Images) -> tuple[float, float]:
    """Alignment of two views of each image, and uniformity of the images, both of the embeddings."""
    images = at_most(images, MOST_PAIRS)
    training = run.config.training
    pairs = torch.arange(len(images)).repeat(2, 1).T
    seeds = derive(training.seed, Purpose.FIRST_VIEW), derive(training.seed, Purpose.SECOND_VIEW)
    view_a, view_b = embed_pairs(run.model, images, pairs, training.augmentation, seeds=seeds)
    return alignment(view_a, view_b), uniformity(embed(run.model, images)[1])
