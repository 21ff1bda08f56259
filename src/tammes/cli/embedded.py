"""The embeddings of a run for a diagnosis: those that are there, or made from the data it was trained on."""

import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

from tammes.cli.data_of_run import data_of_run
from tammes.cli.failures import print_line
from tammes.diagnosis.formats import IN_A_RUN


def embedded(path: Path) -> Path:
    """Return a path with embeddings; a run that has none embeds the data it was trained on, once.

    Args:
        path: file of embeddings, or folder of a run.

    Raises:
        ValueError: a run that has not finished, does not say on which data it was trained, or is built by
            code that it names.
    """
    if not (path / "config.yaml").is_file():
        return path
    found = next((path / name for name in IN_A_RUN if (path / name).is_file()), None)
    weights = path / "model.safetensors"
    if found is not None:
        if weights.is_file() and found.stat().st_mtime < weights.stat().st_mtime:
            print_line(f"{found} is older than the weights of the run: delete it to embed the data anew")
        return found
    return _embed(path)


def _embed(run: Path) -> Path:
    # With lightning, which takes seconds: a file of embeddings does without.
    from tammes.cli import embed
    from tammes.cli.options.embed import Embed
    from tammes.encoders import ModuleConfig
    from tammes.training.run_folder import RunFolder, read_config

    out = run / IN_A_RUN[0]
    by_hand = f"tammes embed {run} --data DATA --out {out}"
    if isinstance(read_config(RunFolder(path=run).config).training.encoder, ModuleConfig):
        raise ValueError(f"{run} is built by code that it names: embed its data first, {by_hand} --trust")
    target = out.resolve()
    source, folder = data_of_run(run, by_hand)
    with chdir(folder), redirect_stdout(sys.stderr):
        print_line(f"embedding the data of the run into {out}")
        embed.main(Embed(run=target.parent, source=source, out=target))
    return out
