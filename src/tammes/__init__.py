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

if TYPE_CHECKING:
    from tammes.diagnosis.diagnose import diagnose as diagnose
    from tammes.diagnosis.diagnosis import Diagnosis as Diagnosis
    from tammes.public import *  # noqa: F403
    from tammes.training.embedder import Embedder as Embedder
    from tammes.training.trained import load as load
else:
    # With the public names comes torch, which takes seconds to import: `tammes --help` needs neither, and
    # the command line must be ready for Ctrl-C by then.
    def __getattr__(name: str) -> object:
        """Import the public names when the first of them is used."""
        if name in _LATER:
            found = vars(importlib.import_module(_LATER[name]))[name]
            globals()[name] = found
            return found
        if name == "__all__" or not name.startswith("__"):
            public = importlib.import_module("tammes.public")
            globals().update({each: vars(public)[each] for each in public.__all__ if each in vars(public)})
            globals().setdefault("__all__", public.__all__)
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module 'tammes' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER, *importlib.import_module("tammes.public").__all__})
