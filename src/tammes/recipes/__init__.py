"""Named methods: constructors that fill in the parts of an `Objective`, and nothing more."""

from tammes.recipes.pointwise import bcl, hinge, jsd, sigmoid, triplet
from tammes.recipes.softmax import dcl, decoupled, hcl, hcl_ot, ifm, logistic, mochi, simclr, supcon

__all__ = [  # noqa: RUF022, in the order of the command line
    "simclr",
    "dcl",
    "hcl",
    "hcl_ot",
    "bcl",
    "triplet",
    "logistic",
    "hinge",
    "ifm",
    "jsd",
    "decoupled",
    "supcon",
    "sigmoid",
    "mochi",
]
