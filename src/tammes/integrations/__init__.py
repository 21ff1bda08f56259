"""Objectives in the loops of other libraries: one module for each, and a check of any loss under DDP.

`sentence_transformers`, `metric_learning`, `lightly`, `open_clip` and `transformers` have the names of the
libraries that they are for, and import them only where they must.
"""

from tammes.integrations.ddp import DDPReport, check_ddp

__all__ = ["DDPReport", "check_ddp"]
