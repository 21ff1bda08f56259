"""The page is one valid file that shows what it was given and fetches nothing."""

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from importlib.metadata import version

import numpy as np
import pytest

from tammes.report import Before, Comparison, Curve, Pictures, Scores, write_comparison

VOID = {"meta", "link", "img", "br"}
HOSTILE = "<script>alert(1)</script> $x^{ & \"'"


class Reader(HTMLParser):
    """Reads a page, complains about tags that do not match, and keeps what the tests ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    def of(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in tags]

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


def read(path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture
def page(comparison: Comparison, tmp_path) -> Reader:
    write_comparison(tmp_path / "report.html", comparison)
    return read(tmp_path / "report.html")


def check_self_contained(reader: Reader) -> None:
    for tag, attributes in reader.tags:
        assert tag not in ("script", "iframe", "object", "embed", "base")
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "xlink:href", "srcset", "action", "data"):
                assert value.startswith(("data:", "#")), f"{tag} {name}={value[:60]}"


def check_accessible(reader: Reader) -> None:
    assert reader.of("html") == [{"lang": "en"}]
    assert all(picture.get("alt") for picture in reader.of("img"))
    assert all(drawing.get("role") == "img" and drawing.get("aria-label") for drawing in reader.of("svg"))
    assert all("scope" in cell for cell in reader.of("th"))
    ids = Counter(attributes["id"] for _, attributes in reader.tags if "id" in attributes)
    assert max(ids.values()) == 1


def test_page_is_self_contained_and_accessible(page: Reader, tmp_path):
    check_self_contained(page)
    check_accessible(page)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_page_says_what_was_compared_and_how_to_redo_it(page: Reader, comparison: Comparison):
    assert "simclr and hcl on pets" in page.words
    assert comparison.command in page.words
    for outcome in comparison.outcomes:
        assert outcome.objective in page.words
    assert "encoder convnet" in page.words
    assert "One seed, so no verdict on which objective is best" in page.words


def test_page_has_every_figure_once_per_objective(page: Reader):
    labels = [drawing["aria-label"] for drawing in page.of("svg")]
    assert sum(label.startswith("Gradient norm of simclr over epochs, from 3 ") for label in labels) == 1
    assert sum(label.startswith("Learning rate of simclr over epochs, ") for label in labels) == 1
    assert sum(label.startswith("kNN accuracy over epochs") for label in labels) == 1
    assert sum(label.startswith("Alignment and uniformity: simclr ") for label in labels) == 1
    for name in ("simclr", "hcl"):
        assert sum(label.startswith(f"Training loss of {name} ") for label in labels) == 1
        assert sum(label.startswith(f"Cosine similarities under {name},") for label in labels) == 1
        assert sum(label.startswith(f"Confusion matrix of {name}. ") for label in labels) == 1
        assert sum(label.startswith(f"t-SNE map of the features of {name} ") for label in labels) == 1
    # The weights of simclr are all the same.
    assert sum("to the anchor under hcl:" in label for label in labels) == 1
    assert not any("to the anchor under simclr" in label for label in labels)
    assert "The weights under simclr are uniform" in page.words
    assert (
        sum(label.startswith("Cosine similarities under simclr and hcl, laid over") for label in labels) == 1
    )
    assert (
        sum(label.startswith("Share of rows with the anchor's label by rank: simclr ") for label in labels)
        == 1
    )
    assert sum("the weights of one anchor's negatives" in label for label in labels) == 1
    assert len(labels) == 16


def test_collisions_are_marked_where_the_label_is_the_anchors(page: Reader, comparison: Comparison):
    classes = [picture["alt"] for picture in page.of("img")]
    marked = sum("same class as the anchor" in alt for alt in classes)
    assert marked == sum(entry.get("class") == "collision" for entry in page.of("li"))
    assert 0 < marked < len(classes)
    anchor = None
    for alt in classes:
        named = re.search(r"class (\w+)", alt)[1]
        if "uniform weight" not in alt:
            anchor = named
        else:
            assert ("same class as the anchor" in alt) == (named == anchor)


@pytest.mark.equal_bits
def test_same_comparison_gives_the_same_file(comparison: Comparison, tmp_path):
    write_comparison(tmp_path / "a.html", comparison)
    write_comparison(tmp_path / "b.html", comparison)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_hostile_names_are_shown_as_they_are(comparison: Comparison, tmp_path):
    outcomes = (replace(comparison.outcomes[0], name=HOSTILE, objective=HOSTILE),)
    sample = replace(
        comparison.sample, classes=(HOSTILE, "\udcff", "x" * 200), names=(HOSTILE,) * comparison.sample.size
    )
    hostile = replace(
        comparison,
        data=HOSTILE,
        settings={HOSTILE: HOSTILE},
        command=HOSTILE,
        outcomes=outcomes,
        sample=sample,
    )
    write_comparison(tmp_path / "report.html", hostile)
    reader = read(tmp_path / "report.html")
    check_self_contained(reader)
    check_accessible(reader)
    assert f"{HOSTILE} on {HOSTILE}" in reader.words


def test_without_labels_the_page_says_so(comparison: Comparison, make_outcome, tmp_path):
    run = Comparison(
        data="holidays",
        settings={},
        command="tammes train holidays",
        sample=replace(comparison.sample, labels=None, classes=None),
        outcomes=(make_outcome("hcl", Scores(), knn=False),),
    )
    write_comparison(tmp_path / "report.html", run)
    reader = read(tmp_path / "report.html")
    check_self_contained(reader)
    check_accessible(reader)
    assert "There are no test labels" in reader.words
    for absent in ("same class", "Confused", "table", "Colors are", "false negative", "Weight against"):
        assert absent not in reader.words
    assert not any(entry.get("class") == "collision" for entry in reader.of("li"))
    assert len(reader.of("svg")) == 5  # loss, gradient, learning rate, similarity, map


def test_one_objective_is_a_run(comparison: Comparison, tmp_path):
    write_comparison(tmp_path / "report.html", replace(comparison, outcomes=comparison.outcomes[1:]))
    reader = read(tmp_path / "report.html")
    assert "Run hcl on pets" in reader.words
    assert "A linear probe on hcl gets 94.0 [91.2, 95.9] % of 400 test images right" in reader.words
    assert "the highest of each column" not in reader.words
    assert "different objectives" not in reader.words
    assert "all objectives" not in reader.words
    assert not any("lignment" in drawing["aria-label"] for drawing in reader.of("svg"))
    assert "Alignment, the mean squared distance between two views of one picture, is" in reader.words


def test_many_classes_and_many_objectives(comparison: Comparison, make_outcome, tmp_path):
    size = comparison.sample.size
    sample = replace(
        comparison.sample, labels=np.arange(size) % 20, classes=tuple(f"class-{k}" for k in range(20))
    )
    outcomes = tuple(
        replace(make_outcome(f"objective {index}"), confusion=np.eye(20, dtype=int)) for index in range(9)
    )
    write_comparison(tmp_path / "report.html", replace(comparison, sample=sample, outcomes=outcomes))
    reader = read(tmp_path / "report.html")
    check_accessible(reader)
    assert "Colors are the ten most frequent classes" in reader.words
    assert "objective 0, objective 1" in reader.words


@pytest.mark.parametrize("classes", [1, 48])
def test_one_class_or_classes_of_one_picture_each_compare_views_instead(
    comparison: Comparison, tmp_path, classes
):
    sample = replace(comparison.sample, labels=np.arange(comparison.sample.size) % classes, classes=None)
    write_comparison(tmp_path / "report.html", replace(comparison, sample=sample))
    reader = read(tmp_path / "report.html")
    labels = [drawing["aria-label"] for drawing in reader.of("svg")]
    assert sum("two views and other pictures" in label for label in labels) == 2
    assert "for two views of one picture and for different pictures" in reader.words
    assert "of one class and of different classes" not in reader.words
    assert "The labels of the nearest" not in reader.words


def test_one_epoch_without_accuracy_has_no_curves(comparison: Comparison, make_outcome, tmp_path):
    once = Curve(epochs=np.array([1]), values=np.array([5.0]))
    outcome = replace(
        make_outcome("hcl", Scores(), knn=False), loss=once, learning_rate=once, gradient_norm=once
    )
    sample = replace(comparison.sample, labels=None, classes=None)
    run = replace(comparison, sample=sample, outcomes=(outcome,), floors=(), test_size=0)
    write_comparison(tmp_path / "report.html", run)
    words = read(tmp_path / "report.html").words
    assert "The training loss was 5 for hcl" in words
    assert "Over training" not in words
    assert "epoch " not in words.replace("epochs 3", "")


def test_uniform_weights_alone_have_no_figure_and_no_numbers(comparison: Comparison, tmp_path):
    write_comparison(tmp_path / "report.html", replace(comparison, outcomes=comparison.outcomes[:1]))
    words = read(tmp_path / "report.html").words
    assert "All negatives have the same weight" in words
    assert "Weight against similarity" not in words
    assert "1.0×" not in words


def test_the_sample_before_training_stands_beside_the_trained_one(
    comparison: Comparison, sample: Pictures, tmp_path
):
    rng = np.random.default_rng(5)
    before = Before(features=rng.normal(size=(sample.size, 7)), embeddings=rng.normal(size=(sample.size, 5)))
    write_comparison(tmp_path / "report.html", replace(comparison, before=before))
    reader = read(tmp_path / "report.html")
    check_accessible(reader)
    assert "in the sample, before training and after" in reader.words
    assert reader.words.count("before training") == 1 + 3 + 1  # the words, three anchors, a line of the ranks
    assert any("; before training " in drawing["aria-label"] for drawing in reader.of("svg"))
    write_comparison(tmp_path / "report.html", comparison)
    assert "before training" not in read(tmp_path / "report.html").words


def test_a_sample_before_training_has_its_rows(comparison: Comparison):
    with pytest.raises(ValueError, match=r"Comparison\.before\.features must have shape \(48, any\)"):
        replace(comparison, before=Before(features=np.ones((3, 2)), embeddings=np.ones((3, 2))))
    with pytest.raises(ValueError, match=r"Before\.embeddings must have shape \(3, any\)"):
        Before(features=np.ones((3, 2)), embeddings=np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"Before\.features must be finite"):
        Before(features=np.full((3, 2), np.nan), embeddings=np.ones((3, 2)))


def test_advice_and_reasons_stand_under_the_table(comparison: Comparison, tmp_path):
    outcomes = tuple(
        replace(each, scores=Scores(probe=low), seeds=(Scores(probe=low), Scores(probe=low + 0.01)))
        for each, low in zip(comparison.outcomes, (0.9, 0.8), strict=True)
    )
    told = replace(comparison, outcomes=outcomes, advice=("Negatives: <many>.", "Coupling: any."))
    write_comparison(tmp_path / "report.html", told)
    reader = read(tmp_path / "report.html")
    assert "Which negatives Negatives: <many>. Coupling: any." in reader.words
    assert "hcl is behind simclr with all labels, by 10.0" in reader.words
    assert "The weights of the negatives in numbers" in reader.words
    bare = replace(comparison, sample=replace(comparison.sample, labels=None), outcomes=comparison.outcomes)
    write_comparison(tmp_path / "report.html", bare)
    assert "Which negatives" not in read(tmp_path / "report.html").words


def test_a_masked_autoencoder_has_no_negatives(comparison: Comparison, tmp_path):
    def page_of(*contrasts: bool) -> str:
        outcomes = [
            replace(each, contrasts=one) for each, one in zip(comparison.outcomes, contrasts, strict=False)
        ]
        write_comparison(tmp_path / "page.html", replace(comparison, outcomes=tuple(outcomes)))
        return (tmp_path / "page.html").read_text()

    of_contrast = (
        "weight on own class",
        "that the objective compares",
        "hard negatives",
        "The hardest negatives",
    )
    alone, both = page_of(False), page_of(True, False)
    assert not [each for each in (*of_contrast, "Weight against similarity", "Effective") if each in alone]
    assert all(each in both for each in of_contrast)
    assert all(each in page_of(True) for each in of_contrast)


def test_what_is_zero_or_constant_is_left_out(comparison: Comparison, tmp_path):
    outcome = comparison.outcomes[1]
    zero = Curve(epochs=np.array([1, 2]), values=np.zeros(2))
    same = Curve(epochs=np.array([1, 2]), values=np.full(2, 1e-3))
    outcome = replace(outcome, loss=zero, learning_rate=same, gradient_norm=None)
    write_comparison(tmp_path / "report.html", replace(comparison, outcomes=(outcome,)))
    reader = read(tmp_path / "report.html")
    for absent in ("training loss", "learning rate", "gradient"):
        assert absent not in reader.words.lower()
    assert "kNN accuracy" in " ".join(drawing["aria-label"] for drawing in reader.of("svg"))


def test_means_over_seeds_say_so(comparison: Comparison, tmp_path):
    seeds = (Scores(knn=0.9, probe=0.92), Scores(knn=0.8, probe=0.9))
    outcome = replace(comparison.outcomes[0], seeds=seeds)
    write_comparison(tmp_path / "report.html", replace(comparison, outcomes=(outcome,)))
    words = read(tmp_path / "report.html").words
    assert "Curves are means over the seeds; bands, cut off" in words
    assert "The 2 seeds are counted together" in words


def test_the_foot_says_where_the_runs_come_from(comparison: Comparison, tmp_path):
    sentence = "Trained on 2026-01-31 at 12:00 UTC in 41.3 seconds, on Xeon."
    write_comparison(tmp_path / "report.html", replace(comparison, origin=(sentence,)))
    assert read(tmp_path / "report.html").words.endswith(
        f"{sentence} Written by tammes {version('tammes')}. This file is self-contained: it needs no network "
        "and can be mailed or printed. "
    )


def test_a_collapsed_encoder_has_a_page_too(comparison: Comparison, sample: Pictures, tmp_path):
    outcome = comparison.outcomes[0]
    collapsed = replace(
        outcome,
        features=np.ones_like(outcome.features),
        embeddings=np.ones_like(outcome.embeddings),
        view_a=np.ones_like(outcome.view_a),
        view_b=np.ones_like(outcome.view_b),
    )
    write_comparison(tmp_path / "report.html", replace(comparison, outcomes=(collapsed,)))
    words = read(tmp_path / "report.html").words
    assert "AUC 50.0 %" in words
    assert "A map of the features" not in words
    both = replace(comparison, outcomes=(collapsed, comparison.outcomes[1]))
    write_comparison(tmp_path / "report.html", both)
    assert "Features that are all equal have no map" in read(tmp_path / "report.html").words
