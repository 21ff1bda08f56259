"""PyGCL's InfoGraph and its other losses of nodes against graphs, where PyGCL is installed.

    python -m venv pygcl && pygcl/bin/pip install --no-deps PyGCL      # beside this package's requirements

PyGCL 0.1.2 imports dgl, torch_scatter and torch_sparse. Of these its losses call `torch_scatter.scatter`
alone, which torch_geometric has too, so stand-ins are imported in their place. Run as a script, this says
which of its losses take nodes against graphs, and in which line the others fail.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable
from types import ModuleType

import torch
from torch import Tensor
from torch_geometric.utils import scatter

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
SETTINGS = {"tau": 0.5, "tau_plus": 0.1, "beta": 1.0}
NAMES = ("JSD", "DebiasedJSD", "HardnessJSD", "InfoNCE", "DebiasedInfoNCE", "HardnessInfoNCE")


def _scatter(src: Tensor, index: Tensor, dim: int = 0, reduce: str = "sum") -> Tensor:
    return scatter(src, index, dim, reduce=reduce)


def _modules() -> tuple[ModuleType, ModuleType] | None:
    """Return PyGCL's losses and models; None where it is not installed."""
    stand_ins = {
        "dgl": {"DGLGraph": object},
        "torch_scatter": {"scatter": _scatter},
        "torch_sparse": {"SparseTensor": object, "coalesce": None},
    }
    for name, content in stand_ins.items():
        module = ModuleType(name)
        vars(module).update(content)
        sys.modules.setdefault(name, module)
    try:
        return importlib.import_module("GCL.losses"), importlib.import_module("GCL.models")
    except ModuleNotFoundError:
        return None


def pygcl_loss(name: str = "JSD") -> Loss | None:
    """Return a loss of PyGCL on nodes and graphs; None where PyGCL is not installed.

    Args:
        name: class of the loss; JSD is InfoGraph's.
    """
    found = _modules()
    if found is None:
        return None
    losses, models = found
    kind = vars(losses)[name]
    parameters = kind.__init__.__code__.co_varnames[: kind.__init__.__code__.co_argcount]
    given = {key: value for key, value in SETTINGS.items() if key in parameters}
    contrast = models.SingleBranchContrast(loss=kind(**given), mode="G2L")
    return lambda nodes, graphs, owner: contrast(h=nodes, g=graphs, batch=owner)


def main() -> None:
    """Print which losses take nodes against graphs."""
    torch.manual_seed(0)
    nodes, graphs, owner = torch.randn(10, 8), torch.randn(3, 8), torch.tensor([0] * 4 + [1] * 3 + [2] * 3)
    for name in NAMES:
        loss = pygcl_loss(name)
        if loss is None:
            print("PyGCL is not installed")
            return
        try:
            print(f"{name}: {float(loss(nodes, graphs, owner)):.4f}")
        except (RuntimeError, IndexError) as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            file = frame.filename.partition("site-packages/")[2]
            print(f"{name}: {type(error).__name__} in {file}, line {frame.lineno}: {frame.line}")


if __name__ == "__main__":
    main()
