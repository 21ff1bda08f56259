"""Training: one loop on lightning's Trainer, and the folder of a run."""

import importlib
from typing import TYPE_CHECKING

from tammes.training.annealing import Falling, Oscillating, Rising
from tammes.training.attack import InputAttack
from tammes.training.caching import GradientCache
from tammes.training.care import Care
from tammes.training.config import RunConfig, TrainingConfig
from tammes.training.embedding import embed
from tammes.training.examples import Data
from tammes.training.masked import Masked
from tammes.training.model import Model, build_model
from tammes.training.momentum import LearnedNegativesConfig, MomentumEncoder, QueueConfig
from tammes.training.optimizer import Adam, AdamW, Constant, Cosine
from tammes.training.suited import suited
from tammes.training.summaries import (
    GraphsSummary,
    ImagesSummary,
    NodesSummary,
    Summary,
    TextsSummary,
    VolumesSummary,
)

if TYPE_CHECKING:
    from tammes.training.folder_copy import FolderCopy
    from tammes.training.loop import train
    from tammes.training.machine import Machine
    from tammes.training.metrics import EpochMetrics, Monitor
    from tammes.training.run import Run, load_run
    from tammes.training.run_folder import RunFolder
    from tammes.training.stop import Stopped
else:
    # The modules of these names import lightning, which takes seconds: settings, networks and embeddings
    # can do without.
    _OF_LOOP = {
        "EpochMetrics": "metrics",
        "Machine": "machine",
        "Monitor": "metrics",
        "FolderCopy": "folder_copy",
        "Run": "run",
        "RunFolder": "run_folder",
        "Stopped": "stop",
        "load_run": "run",
        "train": "loop",
    }

    def __getattr__(name: str) -> object:
        """Import a name of the loop when it is first used."""
        if name not in _OF_LOOP:
            raise AttributeError(f"module 'tammes.training' has no attribute {name!r}")
        found = vars(importlib.import_module(f"tammes.training.{_OF_LOOP[name]}"))[name]
        globals()[name] = found
        return found


__all__ = [
    "Adam",
    "AdamW",
    "Care",
    "Constant",
    "Cosine",
    "Data",
    "EpochMetrics",
    "Falling",
    "FolderCopy",
    "GradientCache",
    "GraphsSummary",
    "ImagesSummary",
    "InputAttack",
    "LearnedNegativesConfig",
    "Machine",
    "Masked",
    "Model",
    "MomentumEncoder",
    "Monitor",
    "NodesSummary",
    "Oscillating",
    "QueueConfig",
    "Rising",
    "Run",
    "RunConfig",
    "RunFolder",
    "Stopped",
    "Summary",
    "TextsSummary",
    "TrainingConfig",
    "VolumesSummary",
    "build_model",
    "embed",
    "load_run",
    "suited",
    "train",
]
