"""The folder of a diagnosis: its page, the table of rows, and the summary for other programs."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tammes.diagnosis.diagnosis import ROWS, SUMMARY, Diagnosis
from tammes.training.atomic import write_atomically


def write_diagnosis(diagnosis: Diagnosis, folder: Path) -> None:
    """Write the page, the rows and the summary of a diagnosis into a folder.

    Args:
        diagnosis: what was found.
        folder: folder of the files, created if it is not there; files of these names are replaced.

    Raises:
        ValueError: there is a file at the place of the folder.
        OSError: the folder cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"expected a folder for the diagnosis, got the file {folder}: name another place")
    folder.mkdir(parents=True, exist_ok=True)
    stream = pa.BufferOutputStream()
    pq.write_table(pa.table(dict(diagnosis.rows)), stream)
    write_atomically(folder / ROWS, stream.getvalue().to_pybytes())
    write_atomically(folder / SUMMARY, (diagnosis.json() + "\n").encode())
