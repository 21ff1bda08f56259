"""The diagnosis of embeddings: files to read, measures with their verdicts, and the rows to look at."""

from tammes.diagnosis.condition import Condition
from tammes.diagnosis.diagnose import diagnose
from tammes.diagnosis.diagnosis import Diagnosis
from tammes.diagnosis.embeddings_file import Embeddings, read_embeddings
from tammes.diagnosis.measure import NEEDS, Measure

__all__ = ["NEEDS", "Condition", "Diagnosis", "Embeddings", "Measure", "diagnose", "read_embeddings"]
