"""Training: one loop on lightning's Trainer, and the folder of a run."""

from tammes.training.annealing import Falling, Oscillating, Rising
from tammes.training.caching import GradientCache
from tammes.training.config import ImagesSummary, RunConfig, TextsSummary, TrainingConfig
from tammes.training.embedding import embed
from tammes.training.examples import Data
from tammes.training.loop import train
from tammes.training.machine import Machine
from tammes.training.metrics import EpochMetrics, Monitor
from tammes.training.model import Model, build_model
from tammes.training.momentum import MomentumEncoder, QueueConfig
from tammes.training.optimizer import Adam, Constant, Cosine
from tammes.training.run_folder import Run, RunFolder, load_run
from tammes.training.stop import Stopped
from tammes.training.suited import suited

__all__ = [
    "Adam",
    "Constant",
    "Cosine",
    "Data",
    "EpochMetrics",
    "Falling",
    "GradientCache",
    "ImagesSummary",
    "Machine",
    "Model",
    "MomentumEncoder",
    "Monitor",
    "Oscillating",
    "QueueConfig",
    "Rising",
    "Run",
    "RunConfig",
    "RunFolder",
    "Stopped",
    "TextsSummary",
    "TrainingConfig",
    "build_model",
    "embed",
    "load_run",
    "suited",
    "train",
]
