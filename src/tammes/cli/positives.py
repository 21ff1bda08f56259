"""The positives from the shell."""

from typing import Annotated

import tyro

from tammes.positives import Active, Neighbors, SameClass, SameInstance, Targeted

Positives = (
    Annotated[
        SameInstance,
        tyro.conf.subcommand("itself", default=SameInstance(), description="Another view of the same image."),
    ]
    | Annotated[
        Active,
        tyro.conf.subcommand(
            "active",
            default=Active(),
            description="Of several views of the image, one near the boundary of a classifier.",
        ),
    ]
    | Annotated[
        Targeted,
        tyro.conf.subcommand(
            "targeted",
            description="A view that varies freely in the factors named, and little in the others.",
        ),
    ]
    | Annotated[
        SameClass,
        tyro.conf.subcommand(
            "same-class",
            default=SameClass(),
            description="Another sentence or image of the class.",
        ),
    ]
    | Annotated[
        Neighbors,
        tyro.conf.subcommand(
            "neighbors", default=Neighbors(), description="The sentence before or after it."
        ),
    ]
    | Annotated[None, tyro.conf.subcommand("usual", default=None, description="What suits the data.")]
)
