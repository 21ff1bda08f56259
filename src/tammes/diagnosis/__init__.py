"""The doctor: reads a file of embeddings, measures it, and says what is wrong and which rows to look at.

The measures themselves are pure functions of tensors, in `tammes.diagnostics`.
"""

from tammes.diagnosis.condition import Condition
from tammes.diagnosis.diagnose import diagnose
from tammes.diagnosis.diagnosis import Diagnosis
from tammes.diagnosis.embeddings_file import Embeddings, read_embeddings
from tammes.diagnosis.measure import NEEDS, Measure

__all__ = ["NEEDS", "Condition", "Diagnosis", "Embeddings", "Measure", "diagnose", "read_embeddings"]
