"""A trained run, and how it is read back from its folder."""

from dataclasses import dataclass, field
from pathlib import Path

from tammes.training.assets import load_assets
from tammes.training.config import RunConfig
from tammes.training.environment import Environment, read_environments
from tammes.training.metrics import EpochMetrics, read_csv
from tammes.training.model import Model
from tammes.training.pictures import Reconstructions
from tammes.training.run_folder import RunFolder, read_config
from tammes.training.weights import read_model


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A trained run, in memory.

    Args:
        config: settings of the run, and the description of its data.
        model: trained encoder and head, on the CPU.
        metrics: metrics of each epoch.
        seconds: wall-clock time of training, without measuring accuracies; None if it is not recorded.
        environments: when and on which machine each part of the run was computed; empty if not recorded.
        reconstructions: what its decoder made of a few images; None without a decoder.
    """

    config: RunConfig
    model: Model = field(repr=False)
    metrics: tuple[EpochMetrics, ...] = field(repr=False)
    seconds: float | None = None
    environments: tuple[Environment, ...] = ()
    reconstructions: Reconstructions | None = field(default=None, repr=False)


def load_run(path: Path, *, trust: bool = False) -> Run:
    """Read a run back from its folder; nothing in the files is executed.

    Args:
        path: folder that training wrote.
        trust: whether to build a network by the code that the configuration names (`ModuleConfig`).

    Raises:
        ValueError: for a folder without a run, a run that has not finished, files that do not fit together,
            or a network that is built by named code, without trust.
    """
    folder = RunFolder(path=path)
    config = read_config(folder.config)
    if not folder.weights.exists():
        raise ValueError(
            f"the run in {path} has not finished (no model.safetensors): resume it with resume=True"
        )
    assets = load_assets(config, vocabulary=folder.vocabulary, description=folder.description)
    model = read_model(folder.weights, config, assets, trust=trust)
    metrics = read_csv(folder.metrics) if folder.metrics.exists() else ()
    environments = read_environments(folder.environment)
    seconds = environments[-1].seconds if environments else None
    return Run(
        config=config,
        model=model,
        metrics=metrics,
        seconds=seconds,
        environments=environments,
        reconstructions=Reconstructions.load(folder.reconstructions),
    )
