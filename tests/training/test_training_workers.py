from pathlib import Path

import pytest
import torch
from PIL import Image

from tammes.data import folder
from tammes.training import ImagesSummary, Machine, RunConfig, build_model, embed
from tiny import make_config


def test_a_worker_names_the_damaged_image_in_a_line(tmp_path: Path) -> None:
    for name in ("1.bmp", "2.bmp"):
        Image.new("RGB", (64, 64), "red").save(tmp_path / name)
    images = folder(tmp_path, size=8, channels=1)
    (tmp_path / "2.bmp").write_bytes((tmp_path / "2.bmp").read_bytes()[:500])
    whole = RunConfig(training=make_config(), data=ImagesSummary.of(images, ""))
    for workers in (0, 1):
        with pytest.raises(ValueError, match=r"^expected an image .*, got .*2\.bmp: [^\n]*$"):
            embed(build_model(whole), images, workers=workers)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no GPU that PyTorch can use was found"):
        Machine(accelerator="gpu")
