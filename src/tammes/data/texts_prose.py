"""Running prose, cut into sentences by a rule."""

import re

# Before a name or number these end in a point and no sentence.
ABBREVIATIONS = frozenset(
    """
    Mr Mrs Ms Mme Mlle Messrs Dr Prof Rev Hon St Gen Col Capt Lt Maj Sgt Gov Sen Rep Pres
    No Nos Vol Vols Fig Figs Eq Sec Ch pp p vs viz cf e.g i.e
    """.split()  # noqa: SIM905
)
OPENING = "\"'“‘„«([{_*-—–"
# A point, or several marks, then closing quotes and brackets, then space.
MARK = re.compile(r"""[.!?…]+["'”’»)\]}_*]*\s+""")
PARAGRAPH = re.compile(r"\n[^\S\n]*\n")


def split_prose(text: str) -> list[str]:
    """Cut running prose into sentences, for English and languages written like it.

    A sentence ends with its paragraph (at an empty line), or after `.`, `!`, `?` or `…`, with closing quotes
    and brackets, where space follows and then a capital letter or a digit, with opening quotes and
    brackets or without. It does not end after a single capital letter (`J. R. Smith`), nor after
    abbreviations that stand before names and numbers (`Mr.`, `No.`, `e.g.`). Single line breaks are space.

    A rule makes mistakes where only the meaning decides: it cuts inside speech that is quoted in the middle
    of a sentence, and not after `etc.` before a small letter. What it does is easy to foresee, it needs no
    model, and the sentences of a document share its topic wherever they are cut.

    Example:
        >>> split_prose('Mr. J. Smith paid $3.50. "Too\\nmuch!" He left.')
        ['Mr. J. Smith paid $3.50.', '"Too much!"', 'He left.']
    """
    sentences = []
    for paragraph in PARAGRAPH.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        start = 0
        for mark in MARK.finditer(paragraph):
            if _ends(paragraph, mark.start(), mark.end()):
                sentences.append(paragraph[start : mark.end()])
                start = mark.end()
        sentences.append(paragraph[start:])
    return [" ".join(sentence.split()) for sentence in sentences if not sentence.isspace() and sentence]


def _ends(paragraph: str, mark: int, following: int) -> bool:
    """Whether a sentence ends with the mark that stands here, and another begins at `following`."""
    while following < len(paragraph) and paragraph[following] in OPENING:
        following += 1
    if following < len(paragraph) and not (paragraph[following].isupper() or paragraph[following].isdigit()):
        return False
    if paragraph[mark : mark + 2].strip() != ".":
        return True
    start = mark
    while start > 0 and not paragraph[start - 1].isspace() and paragraph[start - 1] not in OPENING:
        start -= 1
    word = paragraph[start:mark]
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    return not is_initial and word not in ABBREVIATIONS
