"""A trained encoder of sentences as a model of MTEB; with mteb itself where it is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

import tammes
from tammes.cli.main import main
from tammes.integrations.mteb import MTEBEncoder
from task_files import sentences

TRAIN = "train simclr --temperature 1 --epochs 1 --batch-size 8 --accelerator cpu"
ENCODER = "encoder:bag-of-words --encoder.dim 16 --encoder.minimum-count 1"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("texts")
    for kind in ("pos", "neg"):
        (root / f"{kind}.txt").write_text("\n".join(sentences(kind, 30, 5)))
    out = root / "mine"
    assert main([*TRAIN.split(), "--data", str(root), "--out", str(out), *ENCODER.split()]) == 0
    return out


def test_texts_of_all_batches_are_encoded_and_blank_ones_are_zero(run: Path) -> None:
    encoder = MTEBEncoder(run)
    found = encoder.encode([{"text": ["a good film", " \n"]}, {"text": ["the\nplot"], "label": [1]}])
    features = tammes.load(run).embed(["a good film", "the plot"])
    torch.testing.assert_close(found, torch.stack([features[0], torch.zeros(16), features[1]]))


def test_similarities_are_cosines(run: Path) -> None:
    encoder = MTEBEncoder(run)
    first, second = torch.randn(3, 4), torch.randn(3, 4)
    exact = torch.nn.functional.cosine_similarity(first[:, None], second[None], dim=2)
    torch.testing.assert_close(encoder.similarity(first.numpy(), second.numpy()), exact)
    torch.testing.assert_close(encoder.similarity_pairwise(first, second), exact.diagonal())
    torch.testing.assert_close(encoder.similarity(first[0], second), exact[:1])


def test_the_weights_name_the_revision(run: Path) -> None:
    encoder = MTEBEncoder(run)
    assert encoder.name == "tammes/mine"
    assert len(encoder.revision) == 12
    other = MTEBEncoder(run / "model.safetensors", "second", name="me/encoder")
    assert (other.name, other.revision) == ("me/encoder", "second")
    assert MTEBEncoder(run / "model.safetensors").name == "tammes/mine"
    pointed = shutil.copytree(run, run.parent / "mine-0.5")
    assert MTEBEncoder(pointed).name == "tammes/mine-0.5"


def test_batches_without_texts_and_runs_on_images_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="under 'text', got one with \\['image'\\]"):
        MTEBEncoder(run).encode([{"image": [1]}])
    with pytest.raises(ValueError, match="precision"):
        MTEBEncoder(run).encode([], precision="int8")
    out = tmp_path / "digits"
    words = f"train simclr --temperature 0.5 --data digits --epochs 1 --accelerator cpu --out {out}"
    assert main([*words.split(), "encoder:convnet", "--encoder.width", "8"]) == 0
    with pytest.raises(ValueError, match="is no run on texts"):
        MTEBEncoder(out)


@pytest.mark.filterwarnings("ignore")
def test_mteb_evaluates_the_encoder_on_its_own_tasks(run: Path) -> None:
    mteb = pytest.importorskip("mteb")
    from mteb.mocks.mock_tasks import MockClassificationTask, MockRetrievalTask, MockSTSTask
    from mteb.models.models_protocols import EncoderProtocol

    encoder = MTEBEncoder(run)
    assert isinstance(encoder, EncoderProtocol)
    tasks = [MockClassificationTask(), MockRetrievalTask(), MockSTSTask()]
    found = mteb.evaluate(encoder, tasks, cache=None)
    assert found.model_name == "tammes/mine"
    assert found.model_revision == encoder.revision
    scores = {each.task_name: each.get_score() for each in found.task_results}
    assert set(scores) == {"MockClassificationTask", "MockRetrievalTask", "MockSTSTask"}
    assert all(-1 <= score <= 1 for score in scores.values())
