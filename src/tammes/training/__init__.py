"""Training: one loop on lightning's Trainer, and the folder of a run."""

from tammes.training.annealing import Falling, Rising
from tammes.training.caching import GradientCache
from tammes.training.config import ImagesSummary, RunConfig, TextsSummary, TrainingConfig
from tammes.training.embedding import embed
from tammes.training.examples import Data
from tammes.training.folder import RunFolder
from tammes.training.loop import Machine, train
from tammes.training.metrics import Row
from tammes.training.model import Model, build_model
from tammes.training.momentum import MomentumEncoder
from tammes.training.monitor import Monitor
from tammes.training.optimizer import Adam, Constant, Cosine
from tammes.training.queue_config import QueueConfig
from tammes.training.run import Run, load_run
from tammes.training.stop import Stopped

__all__ = [
    "Adam",
    "Constant",
    "Cosine",
    "Data",
    "Falling",
    "GradientCache",
    "ImagesSummary",
    "Machine",
    "Model",
    "MomentumEncoder",
    "Monitor",
    "QueueConfig",
    "Rising",
    "Row",
    "Run",
    "RunConfig",
    "RunFolder",
    "Stopped",
    "TextsSummary",
    "TrainingConfig",
    "build_model",
    "embed",
    "load_run",
    "train",
]
