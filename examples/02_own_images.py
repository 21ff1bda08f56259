"""
Your own images
===============

A folder of image files, one folder a class if there are classes: that is all a training needs. Here the files
are drawn first. The same from a shell is ``tammes train simclr --data photographs --temperature 0.2``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from PIL import Image

import tammes
from tammes.data import folder, trifeature
from tammes.encoders import ConvNetConfig
from tammes.positives import Photographs
from tammes.training import RunFolder, TrainingConfig, train

work = Path(tempfile.mkdtemp())

# %%
# The stand-in for your photographs: 600 drawings of ten shapes, in ten textures and ten colors.

drawings = trifeature("train").of_feature("shape")
drawings = drawings.subset(torch.randperm(len(drawings), generator=torch.Generator().manual_seed(0))[:600])
for pixels, row in (drawings[row] for row in range(len(drawings))):
    path = work / "photographs" / drawings.classes[drawings.labels[row]] / f"{row}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.permute(1, 2, 0).numpy()).save(path)

images = folder(work / "photographs", size=32)
print(images)

# %%
# A run is a folder with its configuration, weights, checkpoints and metrics. The augmentation decides what
# the encoder may ignore: these views are cropped, flipped and made brighter or darker, and keep their color.

config = TrainingConfig(
    objective=tammes.recipes.simclr(temperature=0.2),
    encoder=ConvNetConfig(width=16),
    augmentation=Photographs(smallest_crop=0.5, hue=0.02, saturation=0.2, grayscale_probability=0.0),
    batch_size=100,
    epochs=15,
)
run = train(config, images, source="photographs", folder=RunFolder(path=work / "run"))
print(*sorted(file.name for file in (work / "run").iterdir()))

# %%
# Later, and elsewhere, the encoder is loaded from the run and embeds whatever you hand it. The nearest
# neighbors show what it calls similar: since no view changed the color, color is what it goes by first. With
# the usual strong changes of hue it could not, and would have to look at texture and shape.

encoder = tammes.load(work / "run")
features = torch.nn.functional.normalize(encoder.embed(images))
similarity = features @ features.T

figure, axes = plt.subplots(4, 8, figsize=(9, 4.8))
for line, query in zip(axes, (10, 170, 330, 490), strict=True):
    for place, row in zip(line, similarity[query].argsort(descending=True)[:8], strict=True):
        place.imshow(images[int(row)][0].permute(1, 2, 0))
        place.set_axis_off()
    line[0].set_title("query", fontsize=9)
    line[1].set_title("nearest images", fontsize=9, loc="left")
figure.tight_layout()
plt.show()
