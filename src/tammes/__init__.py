"""Tammes: learn representations by comparing pairs, with the pairs well chosen."""

import importlib
from typing import TYPE_CHECKING

# Names whose packages take seconds more.
_LATER = {
    "Diagnosis": "tammes.diagnosis.diagnosis",
    "Embedder": "tammes.training.embedder",
    "diagnose": "tammes.diagnosis.diagnose",
    "load": "tammes.training.trained",
}

_PACKAGES = (
    *("data", "diagnosis", "diagnostics", "encoders", "equivariance", "evaluation", "extensions"),
    *("integrations", "latent", "masked", "plan", "positives", "reduce", "report", "spectral", "theory"),
    "training",
)
"""What `tammes.theory.pack` and the like reach without an import of their own."""

if TYPE_CHECKING:
    from tammes import data as data
    from tammes import diagnosis as diagnosis
    from tammes import diagnostics as diagnostics
    from tammes import encoders as encoders
    from tammes import equivariance as equivariance
    from tammes import evaluation as evaluation
    from tammes import extensions as extensions
    from tammes import integrations as integrations
    from tammes import latent as latent
    from tammes import masked as masked
    from tammes import plan as plan
    from tammes import positives as positives
    from tammes import reduce as reduce
    from tammes import report as report
    from tammes import spectral as spectral
    from tammes import theory as theory
    from tammes import training as training
    from tammes.diagnosis.diagnose import diagnose as diagnose
    from tammes.diagnosis.diagnosis import Diagnosis as Diagnosis
    from tammes.public import *  # noqa: F403
    from tammes.training.embedder import Embedder as Embedder
    from tammes.training.trained import load as load

    __version__: str
else:
    # With the public names comes torch, which takes seconds to import: `tammes --help` needs neither, and
    # the command line must be ready for Ctrl-C by then.
    def __getattr__(name: str) -> object:
        """Import the public names when the first of them is used."""
        if name == "__version__":
            found = importlib.import_module("importlib.metadata").version("tammes")
        elif name in _LATER:
            found = vars(importlib.import_module(_LATER[name]))[name]
        elif name in _PACKAGES:
            found = importlib.import_module(f"tammes.{name}")
        elif name == "__all__" or not name.startswith("__"):
            public = importlib.import_module("tammes.public")
            globals().update({each: vars(public)[each] for each in public.__all__ if each in vars(public)})
            globals().setdefault("__all__", [*public.__all__, *_LATER])
            if name not in globals():
                raise AttributeError(f"module 'tammes' has no attribute {name!r}")
            return globals()[name]
        else:
            raise AttributeError(f"module 'tammes' has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER, *_PACKAGES, "__version__", *__getattr__("__all__")})
