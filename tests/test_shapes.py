"""The annotated shapes of functions and of fields are checked at run time, in every package."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass

import pytest
import torch
from jaxtyping import Float, TypeCheckError
from torch import Tensor

import tammes
from shapes import checked, checked_fields, checked_functions, resolved

PACKAGES = {
    "contrast", "coupling", "data", "diagnostics", "encoders", "evaluation", "extensions", "latent", "papers",
    "positives", "reduce", "sources", "spectral", "theory",
}  # fmt: skip


def first_axis(left: Float[Tensor, "n d"], right: Float[Tensor, "d m"]) -> Float[Tensor, " n"]:
    if right.ndim != 2:
        raise ValueError("right must be a matrix")
    return left[0]


@dataclass(frozen=True)
class Pair:
    left: Float[Tensor, " n"]
    right: Float[Tensor, " n"]


def test_every_package_with_shapes_is_checked() -> None:
    for module in pkgutil.walk_packages(tammes.__path__, "tammes."):
        if module.name.startswith(("tammes.__main__", "tammes.reduce.triton.kernels")):
            continue
        try:
            importlib.import_module(module.name)
        except ImportError:  # a host that is not installed
            if not module.name.startswith("tammes.integrations."):
                raise
    ours = [function for function in checked_functions if function.__module__.startswith("tammes.")]
    assert {function.__module__.split(".")[1] for function in ours} >= PACKAGES
    for function in ours:
        assert resolved(function), f"{function.__module__}.{function.__qualname__}"


def test_arguments_and_results_of_other_shapes_are_refused() -> None:
    product = checked(first_axis)
    assert product(torch.ones(2, 2), torch.ones(2, 3)).shape == (2,)
    with pytest.raises(TypeCheckError, match="right"):
        product(torch.ones(2, 3), torch.ones(4, 2))
    with pytest.raises(TypeCheckError, match="return value"):
        product(torch.ones(2, 3), torch.ones(3, 2))
    with pytest.raises(ValueError, match="right must be a matrix"):
        product(torch.ones(2, 3), torch.ones(3))


def test_fields_of_other_shapes_are_refused() -> None:
    checked_fields(Pair)
    with pytest.raises(TypeCheckError, match="right"):
        Pair(torch.ones(2), torch.ones(3))
