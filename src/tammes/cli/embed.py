"""`tammes embed`: features and embeddings of the rows of a data set, as a file for other programs."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from tammes.atomic import write_atomically
from tammes.cli.loading import find_in_current_folder, left_out, load, shape_like, with_columns_of
from tammes.cli.options.embed import Embed
from tammes.cli.output import counted, prepare_output
from tammes.cli.texts import as_in_training
from tammes.training import Data, Machine, embed, load_run


def main(choice: Embed) -> None:
    """Embed the data, and write the file."""
    machine = Machine(accelerator=choice.accelerator, workers=choice.workers)
    prepare_output(choice.out)
    if choice.trust:
        find_in_current_folder()
    run = load_run(choice.run, trust=choice.trust)
    model = run.model.to(machine.device)
    shape = shape_like(choice.source, run.config.data)
    loaded = load(as_in_training(choice.source, run.config.training), shape)
    parts = [with_columns_of(part, run.config.data) for part in loaded]
    embedded = [embed(model, part, batch_size=choice.batch_size, workers=choice.workers) for part in parts]
    features, projection = (torch.cat(tensors).numpy() for tensors in zip(*embedded, strict=True))
    write = _parquet if choice.out.suffix == ".parquet" else _npz
    write_atomically(choice.out, write(parts, features, projection))
    said = left_out(*parts)
    print(f"wrote {counted(len(features), 'row')} to {choice.out}{'' if said is None else f'; {said}'}")


def _parquet(parts: Sequence[Data], features: np.ndarray, projection: np.ndarray) -> bytes:
    labels = [name for part in parts for name in _class_names(part)]
    table = pa.table(
        {
            "name": [name for part in parts for name in part.names],
            "label": pa.array(labels, pa.string()),
            "features": _rows(features),
            "projection": _rows(projection),
        }
    )
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream)
    return stream.getvalue().to_pybytes()


def _npz(parts: Sequence[Data], features: np.ndarray, projection: np.ndarray) -> bytes:
    arrays: dict[str, Any] = {
        "name": np.array([name for part in parts for name in part.names]),
        "features": features,
        "projection": projection,
    }
    labels = [part.labels for part in parts if part.labels is not None]
    if labels:
        arrays["label"] = torch.cat(labels).numpy()
        arrays["classes"] = np.array(parts[0].classes)
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _class_names(data: Data) -> list[str | None]:
    if data.labels is None or data.classes is None:
        return [None] * len(data)
    return [data.classes[label] for label in data.labels.tolist()]


def _rows(matrix: np.ndarray) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
