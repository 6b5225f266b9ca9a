"""Writes random tables with Python's csv module, in every dialect, and beside each what it holds: FOLDER/N.csv and N.json."""

import csv
import itertools
import json
import random
import sys
from pathlib import Path

TEXTS = ["plain", "two words", "", 'a "quote"', "'single'", "é ü 漢", "a/b", "#", "semi;colon", "a, comma", "a|bar", "a\ttab",
         "two\nlines", "two\r\nlines", '"', '""', ",", ' "x', "x" * 300, "NaN-like", "1 of 2", "-- "]
DELIMITERS = [",", ";", "\t", "|"]
QUOTING = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_NONE]


class Written(float):
    """A number that is written in its own way."""

    def __new__(cls, text, point):
        number = super().__new__(cls, text)
        number.text = text.replace(".", point)
        return number

    def __repr__(self):
        return self.text

    __str__ = __repr__


def number(random, form):
    value = random.gauss(0, 1) * 10.0 ** random.randrange(-6, 7)
    if form == "whole":
        return str(random.randrange(-500, 100_000))
    return {"short": f"{value:.4g}", "fixed": f"{value:.4f}", "all": repr(value), "exponent": f"{value:.9e}"}[form]


def table(random, delimiter, quoting, line_end, point, rows):
    is_writable = lambda text: quoting != csv.QUOTE_NONE or not set(text) & set('"\r\n' + delimiter)
    forms = [random.choice(["whole", "short", "fixed", "all", "exponent"]) for _ in range(random.randrange(1, 6))]
    # Otherwise nothing would show what the decimal mark is.
    forms[0] = "fixed"
    numbers = [[number(random, form) if random.random() < 0.9 else "" for _ in range(rows)] for form in forms]
    words = random.sample([text for text in TEXTS if is_writable(text)], 5)
    # One that is certainly text, and without which the first rows would show nothing.
    texts = [[random.choice(words + ["plain"]) for _ in range(rows)] for _ in range(random.randrange(1, 4))]
    for column in texts:
        column[0] = "plain"
    for column in numbers:
        column[0] = "0.5"
    header = [f"n{i}" for i in range(len(numbers))] + [f"t{i}" for i in range(len(texts))] + ["class"]
    labels = [random.choice(["yes", "no"]) for _ in range(rows)]
    # A comma in a number is quoted where the delimiter is one, too.
    cells = [[Written(cell, point) if cell else "" for cell in column] for column in numbers]
    return header, list(zip(*cells, *texts, labels)), {"numbers": numbers, "texts": texts, "labels": labels}


def main():
    folder = Path(sys.argv[1])
    dialects = itertools.product(DELIMITERS, QUOTING, ["\n", "\r\n"], [".", ","], [False, True])
    for seed, (delimiter, quoting, line_end, point, has_mark) in enumerate(dialects):
        # Nothing would tell the two commas apart.
        if (delimiter, point, quoting) == (",", ",", csv.QUOTE_NONE):
            continue
        rows = 5000 if seed % 29 == 0 else random.Random(seed).randrange(3, 120)
        header, lines, holds = table(random.Random(seed), delimiter, quoting, line_end, point, rows)
        with open(folder / f"{seed}.csv", "w", encoding="utf-8-sig" if has_mark else "utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=line_end)
            writer.writerow(header)
            writer.writerows(lines)
        (folder / f"{seed}.json").write_text(json.dumps(holds), encoding="utf-8")


main()
