"""A trained encoder of sentences as a model of MTEB, the benchmark of text embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from tammes.data.texts import Texts
from tammes.training.embedding import embed
from tammes.training.summaries import TextsSummary
from tammes.training.trained import TrainedEncoder, load
from tammes.training.weights import weights_digest


class MTEBEncoder:
    """A trained encoder of sentences with the methods that `mteb.evaluate` calls on an encoder.

        import mteb
        from tammes.integrations.mteb import MTEBEncoder

        mteb.evaluate(MTEBEncoder("runs/mine"), mteb.get_tasks(tasks=["STSBenchmark"]))

    It follows mteb's `EncoderProtocol` and imports mteb only for `mteb_model_meta`. Similarity is the cosine.
    A blank text, which some tasks have, gets the vector zero.

    Args:
        model_name: folder of the run, or its model.safetensors.
        revision: name of this state of the weights in mteb's results; by default the start of their checksum.
        device: device to compute on; by default that of the CPU.
        name: name of the model in mteb's results, as owner/name; by default that of the run's folder.
        trust: whether to execute code that the run names; see `tammes.load`.

    Raises:
        ValueError: a run that is not on texts, and what `tammes.load` refuses.

    Example:
        >>> [each for each in vars(MTEBEncoder) if not each.startswith("_")]
        ['encode', 'similarity', 'similarity_pairwise', 'mteb_model_meta']
    """

    def __init__(
        self,
        model_name: str | Path,
        revision: str | None = None,
        *,
        device: str | None = None,
        name: str | None = None,
        trust: bool = False,
    ) -> None:
        path = Path(model_name)
        self.encoder: TrainedEncoder = load(path, trust=trust)
        if not isinstance(self.encoder.settings.data, TextsSummary):
            raise ValueError(f"MTEB measures encoders of sentences, but {path} is no run on texts")
        self.encoder.to(device or "cpu")
        weights = path if path.is_file() else path / "model.safetensors"
        self.revision = weights_digest(weights)[:12] if revision is None else revision
        self.name = f"tammes/{path.resolve().name if path.is_dir() else path.resolve().parent.name}"
        if name is not None:
            self.name = name

    def encode(
        self,
        inputs: Iterable[Mapping[str, Any]],
        *,
        task_metadata: Any = None,
        hf_split: str | None = None,
        hf_subset: str | None = None,
        prompt_type: Any = None,
        batch_size: int = 512,
        show_progress_bar: bool = False,
        precision: str = "float32",
    ) -> Float[Tensor, "n features"]:
        """Return the features of all texts of a loader, float32 on the CPU.

        Args:
            inputs: batches with a list of texts under "text".
            task_metadata: the task, which changes nothing: these encoders have no prompts.
            hf_split: part of the data, likewise.
            hf_subset: subset of the data, likewise.
            prompt_type: whether the texts are queries or documents, likewise.
            batch_size: texts at a time; changes time and memory only.
            show_progress_bar: ignored.
            precision: "float32"; mteb quantizes features itself.

        Raises:
            ValueError: batches without texts, another precision.
        """
        if precision != "float32":
            raise ValueError(f'precision must be "float32", got {precision!r}')
        sentences: list[str] = []
        for batch in inputs:
            if "text" not in batch:
                raise ValueError(f"expected batches with texts under 'text', got one with {sorted(batch)}")
            sentences += [" ".join(str(each).split()) for each in batch["text"]]
        rows = [row for row, sentence in enumerate(sentences) if sentence]
        found = torch.zeros(len(sentences), self.encoder.features)
        if rows:
            texts = Texts.of(sentences[row] for row in rows)
            found[rows] = embed(self.encoder.model, texts, batch_size=batch_size)[0]
        return found

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Float[Tensor, "n m"]:
        """Return the cosine of each row of the first with each row of the second."""
        return _units(embeddings1) @ _units(embeddings2).T

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Float[Tensor, " n"]:
        """Return the cosine of each row of the first with the same row of the second."""
        return (_units(embeddings1) * _units(embeddings2)).sum(dim=1)

    @property
    def mteb_model_meta(self) -> Any:
        """Description of the model in mteb's results."""
        from mteb.models.model_meta import ModelMeta, ScoringFunction

        parameters = sum(each.numel() for each in self.encoder.parameters())
        return ModelMeta.create_empty(
            {
                "name": self.name,
                "revision": self.revision,
                "n_parameters": parameters,
                "embed_dim": self.encoder.features,
                "similarity_fn_name": ScoringFunction.COSINE,
                "framework": ["PyTorch"],
            }
        )


def _units(embeddings: Any) -> Float[Tensor, "n features"]:
    rows = torch.as_tensor(embeddings).float()
    return normalize(rows[None] if rows.ndim == 1 else rows, dim=1)
