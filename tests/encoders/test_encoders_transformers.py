"""Models of transformers as encoders: the features are theirs, and what does not fit is refused in a line."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("transformers")

import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

import tiny_models
from tammes.data import Tokens
from tammes.data.sealed import seal
from tammes.encoders import ModelDescription, TransformersConfig, UnavailableWeightsError
from tammes.encoders.transformers import POOLINGS, pooled
from tiny import random_texts

SENTENCES = [*random_texts(seed=1).sentences[:5], "w1", "w2 w3"]


def config(folder: Path, **settings: Any) -> TransformersConfig:
    return TransformersConfig(name_or_path=str(folder), **settings)


def text_features(folder: Path, **settings: Any) -> Tensor:
    """Features of the sentences by our encoder, in evaluation mode and in one batch."""
    chosen = config(folder, **settings)
    description = chosen.describe(texts=True)
    assert description.tokenizer is not None
    encoder = chosen.build_for_texts(description).eval()
    with torch.no_grad():
        return encoder(description.tokenizer.encode(SENTENCES))


def image_features(folder: Path, images: Tensor, **settings: Any) -> Tensor:
    chosen = config(folder, **settings)
    encoder = chosen.build_for_images(
        chosen.describe(texts=False), channels=images.shape[1], size=images.shape[2]
    )
    with torch.no_grad():
        return encoder.eval()(images)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.booleans())
def test_pooling_sees_no_padding_on_either_side(lengths: list[int], left: bool) -> None:
    longest = max(lengths) + 1
    hidden = torch.randn(len(lengths), longest, 3)
    is_token = torch.zeros(len(lengths), longest, dtype=torch.int64)
    for row, length in enumerate(lengths):
        is_token[row, -length:] = 1 if left else 0
        is_token[row, :length] = is_token[row, :length] if left else 1
    for row, known in enumerate(is_token.bool()):
        expected = {"mean": hidden[row, known].mean(0), "cls": hidden[row, known][0]}
        expected["last"] = hidden[row, known][-1]
        for pooling in POOLINGS:
            torch.testing.assert_close(pooled(hidden, is_token, pooling)[row], expected[pooling])


@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("make", [tiny_models.bert, tiny_models.llama, tiny_models.gpt2])
def test_sentences_have_the_features_of_plain_transformers(
    tmp_path: Path, make: Any, pooling: str, left: bool
) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model", make(), left=left)
    model = transformers.AutoModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    expected = []
    for sentence in SENTENCES:
        with torch.no_grad():
            hidden = model(**tokenizer([sentence], return_tensors="pt")).last_hidden_state[0]
        expected.append({"mean": hidden.mean(0), "cls": hidden[0], "last": hidden[-1]}[pooling])
    found = text_features(folder, pooling=pooling)
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-5, atol=1e-6)


def test_many_sentences_are_grouped_by_length_in_evaluation(tmp_path: Path) -> None:
    chosen = config(tiny_models.write_text_model(tmp_path / "model"))
    description = chosen.describe(texts=True)
    assert description.tokenizer is not None
    encoder = chosen.build_for_texts(description).eval()
    lengths = torch.randint(1, 14, (400,)).tolist()
    tokens = description.tokenizer.encode([" ".join(["w1", "w3"] * 7)[: 3 * each - 1] for each in lengths])
    seen = []
    encoder.model.register_forward_pre_hook(
        lambda module, arguments, named: seen.append(named["input_ids"].shape), with_kwargs=True
    )
    with torch.no_grad():
        found = encoder(tokens)
        assert sum(rows * longest for rows, longest in seen) < 1.15 * len(tokens.ids)
        alone = torch.cat([encoder(tokens.take(torch.tensor([row]))) for row in range(400)])
    torch.testing.assert_close(found, alone, rtol=0, atol=1e-6)


def test_the_encoder_of_two_is_taken(tmp_path: Path) -> None:
    """T5 and its like have a second network, which writes the answer."""
    ends = {"pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 3}
    settings = transformers.T5Config(
        vocab_size=tiny_models.SIZE, d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2, **ends
    )
    folder = tiny_models.write_text_model(tmp_path / "t5", settings)
    model = transformers.T5EncoderModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        hidden = model(**tokenizer(SENTENCES[:1], return_tensors="pt")).last_hidden_state
    torch.testing.assert_close(text_features(folder)[:1], hidden.mean(1))


def test_long_sentences_lose_their_ends_but_not_the_last_special_token(tmp_path: Path) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    tokenizer = config(folder, max_length=4).describe(texts=True).tokenizer
    assert tokenizer is not None
    sentences = ["w0 w1", "w0 w1 w2 w3", "w4"]
    tokens = tokenizer.encode(sentences)
    assert [tokens.take(torch.tensor([row])).ids.tolist() for row in range(3)] == [
        [2, 4, 5, 3],
        [2, 4, 5, 3],
        [2, 8, 3],
    ]
    assert tokenizer.count_cut(sentences, tokens) == 1
    usual = config(folder).describe(texts=True).tokenizer
    assert usual is not None
    assert usual.max_length == 16  # what the model takes, since that is below 128
    assert repr(usual) == "ModelTokenizer(21 tokens, sentences of at most 16)"


def test_weights_that_features_do_not_depend_on_are_frozen(tmp_path: Path) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    chosen = config(folder)
    encoder = chosen.build_for_texts(chosen.describe(texts=True))
    assert encoder.training
    assert all(module.training for module in encoder.modules())
    frozen = [name for name, each in encoder.named_parameters() if not each.requires_grad]
    assert frozen == ["model.pooler.dense.weight", "model.pooler.dense.bias"]
    tokens = Tokens(torch.tensor([2, 5, 3, 2, 3]), torch.tensor([0, 3, 5]))
    encoder(tokens).sum().backward()
    for name, parameter in encoder.named_parameters():
        assert (parameter.grad is None) == (name in frozen)


def test_images_are_pooled_over_patches_or_over_the_map(tmp_path: Path) -> None:
    images = torch.rand(3, 3, 8, 8)
    for make in (tiny_models.vit, tiny_models.convnext, tiny_models.resnet):
        folder = tiny_models.write_model(tmp_path / make.__name__, make())
        with torch.no_grad():
            hidden = transformers.AutoModel.from_pretrained(folder)(pixel_values=images).last_hidden_state
        places = (2, 3) if hidden.ndim == 4 else (1,)
        torch.testing.assert_close(image_features(folder, images), hidden.mean(dim=places))
        if hidden.ndim == 3:
            torch.testing.assert_close(image_features(folder, images, pooling="cls"), hidden[:, 0])


def test_images_are_normalized_as_the_image_processor_does(tmp_path: Path) -> None:
    folder = tiny_models.write_model(tmp_path / "vit", tiny_models.vit())
    images, mean, deviation = torch.rand(2, 3, 8, 8), [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
    normalized = (images - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(deviation).view(3, 1, 1)
    plain, expected = image_features(folder, images), image_features(folder, normalized)
    processor = {"image_mean": mean, "image_std": deviation, "do_normalize": True, "rescale_factor": 1 / 255}

    def features(**changed: Any) -> Tensor:
        (folder / "preprocessor_config.json").write_text(json.dumps({**processor, **changed}))
        return image_features(folder, images)

    torch.testing.assert_close(features(), expected)
    torch.testing.assert_close(features(do_normalize=False), plain)
    in_bytes = features(
        do_rescale=False,
        image_mean=[255 * each for each in mean],
        image_std=[255 * each for each in deviation],
    )
    torch.testing.assert_close(in_bytes, expected)
    with pytest.raises(ValueError, match=r"must have lists image_mean and image_std, got 0\.5 and"):
        features(image_mean=0.5)
    with pytest.raises(ValueError, match="takes blue, green, red"):
        features(do_flip_channel_order=True)
    with pytest.raises(ValueError, match="expected deviations above 0"):
        features(image_std=[0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="expected a mean and a deviation for each channel"):
        features(image_std=[1.0])


def test_gray_images_are_repeated_and_scaled_to_a_model_that_insists_on_its_size(tmp_path: Path) -> None:
    folder = tiny_models.write_model(tmp_path / "vit", tiny_models.vit(16))
    assert config(folder).image_size() == 16
    gray = torch.rand(2, 1, 8, 8)
    larger = torch.nn.functional.interpolate(gray, (16, 16), mode="bilinear", antialias=True)
    expected = image_features(folder, larger.expand(-1, 3, -1, -1))
    torch.testing.assert_close(image_features(folder, gray), expected)
    # A network of convolutions takes any size, and has no size of its own in its settings.
    folder = tiny_models.write_model(tmp_path / "resnet", tiny_models.resnet())
    assert config(folder).image_size() is None
    chosen = config(folder)
    encoder = chosen.build_for_images(chosen.describe(texts=False), channels=3, size=20)
    assert encoder.size == (20, 20)


def test_a_model_that_changes_when_an_image_does_not_fit_is_not_changed(tmp_path: Path) -> None:
    """Swin makes its windows as small as the image, and keeps them so."""
    settings = transformers.SwinConfig(
        image_size=32, patch_size=4, embed_dim=8, depths=[1, 1], num_heads=[1, 2], window_size=4
    )
    folder = tiny_models.write_model(tmp_path / "swin", settings)
    assert image_features(folder, torch.rand(2, 3, 20, 20)).shape == (2, 16)


def test_of_a_model_of_two_kinds_the_part_for_images_is_taken(tmp_path: Path) -> None:
    shape = {"hidden_size": 8, **tiny_models.BLOCKS}
    settings = transformers.CLIPConfig(
        text_config={
            **shape,
            "vocab_size": 21,
            "max_position_embeddings": 16,
            "bos_token_id": 2,
            "eos_token_id": 3,
        },
        vision_config={**shape, "image_size": 8, "patch_size": 4},
    )
    folder = tiny_models.write_model(tmp_path / "clip", settings)
    images = torch.rand(2, 3, 8, 8)
    model = transformers.CLIPVisionModel.from_pretrained(folder)
    with torch.no_grad():
        expected = model(pixel_values=images).last_hidden_state.mean(1)
    torch.testing.assert_close(image_features(folder, images), expected)


def test_weights_come_from_the_file_or_from_the_generator(tmp_path: Path) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    first = text_features(folder)
    torch.manual_seed(5)
    assert torch.equal(text_features(folder), first)
    drawn = text_features(folder, pretrained=False)
    torch.manual_seed(5)
    text_features(folder)  # takes no random numbers
    assert torch.equal(text_features(folder, pretrained=False), drawn)
    assert not torch.equal(text_features(folder, pretrained=False), drawn)


def test_weights_in_half_precision_are_trained_in_single(tmp_path: Path) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    transformers.AutoModel.from_pretrained(folder).half().save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float16"
    chosen = config(folder)
    for each in (chosen, replace(chosen, pretrained=False)):
        encoder = each.build_for_texts(each.describe(texts=True))
        assert {parameter.dtype for parameter in encoder.parameters()} == {torch.float32}


def test_a_description_is_everything_but_the_weights(tmp_path: Path) -> None:
    for texts, make in ((True, tiny_models.llama), (False, tiny_models.vit)):
        folder = tiny_models.write_text_model(tmp_path / make.__name__, make())
        chosen = config(folder, pretrained=False)
        description = chosen.describe(texts=texts)
        shutil.rmtree(folder)
        again = ModelDescription.from_json(description.to_json(), "here")
        assert again == description
        built = again.build(texts=texts)
        assert type(built).__name__ in ("LlamaModel", "ViTModel")


def test_a_description_that_was_changed_is_refused(tmp_path: Path) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    text = config(folder).describe(texts=True).to_json()
    with pytest.raises(ValueError, match="description of a model in here was changed since it was saved"):
        ModelDescription.from_json(text.replace('\\"hidden_size\\": 8', '\\"hidden_size\\": 9'), "here")
    (tmp_path / "model.json").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="expected a description of a model as JSON"):
        ModelDescription.load(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"architecture": 3}, "values of other types"),
        ({"architecture": "{"}, "expected the architecture of a model as JSON"),
        ({"architecture": "[]"}, "got None as its model_type"),
        ({"architecture": '{"model_type": "bert", "hidden_size": "wide"}'}, "transformers cannot build"),
        ({"mean": [0.5], "deviation": []}, "a mean and a deviation for each channel"),
        ({"mean": ["a"], "deviation": ["b"]}, "a mean and a deviation for each channel"),
        ({"tokenizer": 3}, "a tokenizer with file, padding and max_length"),
        ({"tokenizer": {"file": 3, "padding": 0, "max_length": 8}}, "file of a tokenizer as a string"),
        ({"tokenizer": {"file": "{}", "padding": 0, "max_length": 8}}, "expected a tokenizer as JSON"),
    ],
)
def test_a_description_of_nothing_is_refused(changed: dict[str, Any], words: str) -> None:
    content = {"architecture": '{"model_type": "bert"}', "tokenizer": None, "mean": [], "deviation": []}
    text = seal({**content, **changed}, format="tammes model 1")
    with pytest.raises(ValueError, match=words):
        ModelDescription.from_json(text, "here").build(texts=True)


def test_nothing_that_a_configuration_names_is_executed_or_downloaded(tmp_path: Path) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    plain = config(folder).describe(texts=True)
    content = json.loads((folder / "config.json").read_text())
    (folder / "evil.py").write_text("raise SystemExit('executed')")
    named = {"auto_map": {"AutoModel": "evil.Model", "AutoConfig": "evil.Config"}}
    kernel = {"attn_implementation": "someone/kernel", "_attn_implementation": "someone/kernel"}
    (folder / "config.json").write_text(json.dumps({**content, **named, **kernel}))
    assert config(folder).describe(texts=True) == plain
    torch.testing.assert_close(text_features(folder), text_features(folder))
    for changed, words in (
        ({"model_type": "evil", **named}, "must be one of the architectures that transformers has itself"),
        ({"model_type": None}, "got None as its model_type"),
        ({"quantization_config": {"quant_method": "fp8"}}, "compressed weights, which cannot be trained"),
        ({"backbone": "resnet18"}, "wraps a network of another library"),
        ({"text_config": {"backbone": "resnet18"}}, "wraps a network of another library"),
        ({"model_type": "timm_wrapper"}, "wraps a network of another library"),
    ):
        (folder / "config.json").write_text(json.dumps({**content, **changed}))
        with pytest.raises(ValueError, match=words):
            config(folder).describe(texts=True)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"name_or_path": ""}, "name_or_path must be a folder or a name on the hub"),
        ({"name_or_path": Path("here")}, "as a string, got .*Path"),
        ({"pooling": "max"}, "pooling must be mean, cls or last, got 'max'"),
        ({"max_length": 0}, "max_length must be an integer of at least 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TransformersConfig(**{"name_or_path": "here", **settings})


def test_a_folder_that_is_no_model_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"no model of transformers in .*empty \(no config.json\)"):
        config(tmp_path / "empty").describe(texts=True)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is a file: name the folder"):
        config(tmp_path / "file").describe(texts=True)
    with pytest.raises(ValueError, match="neither a folder here nor a model that could be read from the hub"):
        config(tmp_path / "nothing").describe(texts=True)
    for name, settings in (("alone", tiny_models.bert()), ("other", tiny_models.llama())):
        folder = tiny_models.write_model(tmp_path / name, settings)
        with pytest.raises(ValueError, match="has no tokenizer, which texts need"):
            config(folder).describe(texts=True)
    folder = tiny_models.write_text_model(tmp_path / "slow")
    slow = transformers.PreTrainedTokenizerBase()
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_, **__: slow)
    with pytest.raises(ValueError, match="a tokenizer of an older form"):
        config(folder).describe(texts=True)


def test_a_model_of_the_other_kind_is_named(tmp_path: Path) -> None:
    text, image = tmp_path / "text", tmp_path / "image"
    tiny_models.write_text_model(text)
    tiny_models.write_model(image, tiny_models.vit())
    with pytest.raises(ValueError, match="text is a model of texts, but the data are images"):
        config(text).describe(texts=False)
    with pytest.raises(ValueError, match="image is a model of images, but the data are texts"):
        config(image).describe(texts=True)
    sound = transformers.Wav2Vec2Config(hidden_size=16, **tiny_models.BLOCKS)
    sound.save_pretrained(tmp_path / "sound")
    with pytest.raises(ValueError, match="a model of input_values, but the data are texts"):
        config(tmp_path / "sound").describe(texts=True)


def test_a_padding_token_is_needed_or_an_end(tmp_path: Path) -> None:
    folder = tiny_models.write_model(tmp_path / "model", tiny_models.llama())
    tiny_models.write_tokenizer(folder, unk_token="[UNK]", eos_token="[SEP]")
    tokenizer = config(folder).describe(texts=True).tokenizer
    assert tokenizer is not None
    assert tokenizer.padding == 3
    assert text_features(folder).shape == (7, 8)
    tiny_models.write_tokenizer(folder, unk_token="[UNK]")
    with pytest.raises(ValueError, match="neither a padding token nor an end token"):
        config(folder).describe(texts=True)


def test_lengths_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    with pytest.raises(ValueError, match="takes at most 16 tokens, got max_length=17"):
        config(folder, max_length=17).describe(texts=True)
    with pytest.raises(ValueError, match="max_length must leave room for words beside the 2 special tokens"):
        config(folder, max_length=2).describe(texts=True)
    # RoBERTa counts positions from behind its padding token, and takes fewer than it says.
    settings = transformers.RobertaConfig(
        vocab_size=21, hidden_size=8, max_position_embeddings=16, pad_token_id=1, **tiny_models.BLOCKS
    )
    folder = tiny_models.write_text_model(tmp_path / "roberta", settings)
    with pytest.raises(ValueError, match=r"does not take sentences of 16 tokens .*: index 16 is out"):
        text_features(folder)
    assert text_features(folder, max_length=14).shape == (7, 8)


def test_blank_sentences_and_other_tokenizers_are_refused(tmp_path: Path) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    tokenizer = config(folder).describe(texts=True).tokenizer
    assert tokenizer is not None
    with pytest.raises(ValueError, match="expected words in every sentence, got none in sentence 1: ' '"):
        tokenizer.encode(["w1", " "])
    with pytest.raises(ValueError, match="padding must be one of the ids up to 20, got 21"):
        replace(tokenizer, padding=21)
    small = tiny_models.bert()
    small.vocab_size = 9
    tiny_models.write_model(folder, small)
    with pytest.raises(ValueError, match="does not take sentences of 16 tokens with ids up to 20: index out"):
        text_features(folder)


def test_images_that_a_model_does_not_take_are_refused(tmp_path: Path) -> None:
    one = tiny_models.write_model(tmp_path / "one", tiny_models.vit(num_channels=1))
    with pytest.raises(ValueError, match="takes images of 1 channels, but these have 3: load them with 1"):
        image_features(one, torch.rand(1, 3, 8, 8))
    map_ = tiny_models.write_model(tmp_path / "map", tiny_models.resnet())
    with pytest.raises(ValueError, match="makes a map of features, which has no first token"):
        image_features(map_, torch.rand(1, 3, 8, 8), pooling="cls")
    with pytest.raises(ValueError, match="the last token means nothing in an image"):
        image_features(map_, torch.rand(1, 3, 8, 8), pooling="last")
    masked = transformers.ViTMAEConfig(hidden_size=8, image_size=16, patch_size=4, **tiny_models.BLOCKS)
    folder = tiny_models.write_model(tmp_path / "masked", masked)
    with pytest.raises(ValueError, match="other features of the same input each time, even in evaluation"):
        image_features(folder, torch.rand(1, 3, 16, 16))


def test_weights_that_are_missing_are_not_replaced_by_random_ones(tmp_path: Path) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    file = folder / "model.safetensors"
    weights = load_file(file)
    # The pooler does not matter for the features.
    save_file({name: each for name, each in weights.items() if "pooler" not in name}, file, {"format": "pt"})
    text_features(folder)
    save_file({name: each for name, each in weights.items() if "word" not in name}, file, {"format": "pt"})
    with pytest.raises(UnavailableWeightsError, match=r"lack 1 of .* such as embeddings.word_embeddings"):
        text_features(folder)
    file.unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(UnavailableWeightsError, match="cannot be read \\(only safetensors are\\)"):
        text_features(folder)
    assert text_features(folder, pretrained=False).shape == (7, 8)


def test_a_model_of_another_output_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    monkeypatch.setattr("tammes.encoders.transformers.pooled", lambda hidden, is_token, pooling: hidden[0])
    with pytest.raises(ValueError, match=r"must return a vector for each of 2 rows, got \(16, 8\)"):
        text_features(folder)


def test_remarks_and_bars_of_transformers_come_back(tmp_path: Path) -> None:
    folder = tiny_models.write_text_model(tmp_path / "model")
    logging = transformers.utils.logging
    verbosity = logging.get_verbosity()
    logging.set_verbosity_info()
    logging.enable_progress_bar()
    try:
        text_features(folder)
        assert logging.get_verbosity() == transformers.logging.INFO
        assert logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity(verbosity)
        logging.disable_progress_bar()


@pytest.mark.parametrize(
    ("found", "words"),
    [(None, "transformers is not installed"), ("4.57.1", "4.57.1 is too old, 5.0 or later")],
)
def test_a_missing_or_old_version_is_named(
    monkeypatch: pytest.MonkeyPatch, found: str | None, words: str
) -> None:
    def version(name: str) -> str:
        if found is None:
            raise sys.modules["tammes.host"].PackageNotFoundError(name)
        return found

    monkeypatch.setattr("tammes.host.version", version)
    with pytest.raises(ImportError, match=words):
        TransformersConfig(name_or_path="here").describe(texts=True)


def test_a_transformers_that_does_not_go_with_other_packages_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match="transformers cannot be imported: import of transformers halted"):
        TransformersConfig(name_or_path="here").describe(texts=True)
