"""Atomic writes, which `tammes.atomic` makes without the packages of training."""

from tammes.atomic import PARTIAL as PARTIAL
from tammes.atomic import partial_files as partial_files
from tammes.atomic import write_atomically as write_atomically
