"""What all tests share: shapes checked at run time, and one thread unless the environment says otherwise."""

import os
import sys
from collections.abc import Iterator

from shapes import check_shapes

# They would take a third of the time of a long attack; a quick one checks them.
if "TAMMES_ATTACK_OBJECTIVES" not in os.environ:
    check_shapes("tammes")

import pytest
import torch

# Without a GPU Triton's kernels are interpreted; it asks for that once, when it is imported.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

from hypothesis import HealthCheck, settings

settings.register_profile(
    "tammes", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tammes")


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _products() -> Iterator[None]:
    """Leave torch's products to the next test as they are, whatever an example has called."""
    yield
    if products := sys.modules.get("tammes.products"):
        products.quick_products(False)


@pytest.fixture(autouse=True, scope="session")
def _threads() -> None:
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
