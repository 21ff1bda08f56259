"""`tammes search`: the sentences nearest to queries, from an index in the folder of the run."""

from __future__ import annotations

import dataclasses
import json
import time

from rich.table import Table

from tammes.cli.console import print_table
from tammes.cli.failures import print_line
from tammes.cli.loading import find_in_current_folder, load, shape_like
from tammes.cli.options.search import Search
from tammes.cli.texts import as_in_training
from tammes.data import Texts
from tammes.training import Machine, TextsSummary, load_run
from tammes.training.sentence_index import Found, sentence_index, unknown_queries


def main(choice: Search) -> None:
    """Build or read the index, and print the nearest sentences of each query."""
    if choice.trust:
        find_in_current_folder()
    run = load_run(choice.run, trust=choice.trust)
    if not isinstance(run.config.data, TextsSummary):
        raise ValueError(f"tammes search is for encoders of sentences, but {choice.run} is no run on texts")
    shape = shape_like(choice.source, run.config.data)
    (texts,) = load(as_in_training(choice.source, run.config.training), shape)
    assert isinstance(texts, Texts)
    model = run.model.to(Machine(accelerator=choice.accelerator).device)
    index = sentence_index(choice.run, model, texts, say=print_line)
    for query in unknown_queries(model, choice.query):
        print_line(f"no word of {query!r} is known to the encoder: what is found for it says nothing")
    begun = time.perf_counter()
    found = index.search(choice.query, choice.top)
    seconds = time.perf_counter() - begun
    if choice.json:
        answers = [
            {"query": query, "found": [dataclasses.asdict(each) for each in of_query]}
            for query, of_query in zip(choice.query, found, strict=True)
        ]
        named = {"run": str(choice.run), "data": choice.source.data, "sentences": len(texts)}
        print(json.dumps({**named, "recall": index.recall, "seconds": seconds, "queries": answers}))
        return
    for query, of_query in zip(choice.query, found, strict=True):
        print_table(_table(query, of_query))
    how = (
        "exactly"
        if index.cells is None
        else f"by an index that finds {100 * index.recall:.1f} % of the nearest"
    )
    print(f"Searched {len(texts):,} sentences {how}, in {1000 * seconds:.0f} ms.")


def _table(query: str, found: list[Found]) -> Table:
    table = Table(title=query, title_justify="left")
    table.add_column("cosine", justify="right")
    table.add_column("sentence", overflow="fold")
    table.add_column("where", overflow="fold")
    for each in found:
        table.add_row(f"{each.similarity:.3f}", each.sentence, each.name)
    return table
