"""Trains tinytrain and classifiers of scikit-learn on the same tables and writes the accuracies into docs/TABLES.md.

usage: compare.py TINYTRAIN
"""

import csv
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
import sklearn
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import PROBLEMS

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "TABLES.md"
BEGIN, END = "<!-- compare-tables: begin -->", "<!-- compare-tables: end -->"
SEEDS = range(5)
OURS = "tinytrain"
PEERS = {
    "MLP": lambda seed: MLPClassifier(random_state=seed),
    "MLP, standardised": lambda seed: make_pipeline(StandardScaler(), MLPClassifier(random_state=seed)),
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
    "logistic regression, standardised": lambda seed: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1000, random_state=seed)
    ),
    "most frequent class": lambda seed: DummyClassifier(strategy="most_frequent"),
}
TEXT = f"""# Tables, beside scikit-learn

How well does `tinytrain train --data train.csv` do on an ordinary table when no option is given? This page compares it
with classifiers of [scikit-learn](https://scikit-learn.org), which keep their defaults too.

Each table is divided five times, with the seeds 0 to 4, into 80 % of the rows to train on and 20 % to test on; both
parts have the same shares of the classes. All programs get the same rows, and the test rows are used only once, for the
accuracy. The column of the labels is called `target`, so that no option need name it. The tables:

- iris, wine, breast cancer, digits: the tables in [data/tables](../data/tables/README.md).
- scales: 1,500 rows, 20 columns in units from 1e-4 to 1e5 and far from 0, three classes.
- imbalanced: 1,500 rows, 12 columns, two classes; the rare one has a tenth of the rows.
- moons: 1,000 rows, two columns, two classes with a curved border between them.

The last three are made by scikit-learn's generators, with fixed seeds ([scripts/tables/problems.py](../scripts/tables/problems.py)).

The programs:

- tinytrain: `tinytrain train --data train.csv --test test.csv --device cpu --format json --out model`. Its time is that
  of the whole process: start, both files, training, the test after every epoch, saving the model.
- scikit-learn's `MLPClassifier`, as it is, and behind a `StandardScaler`; `RandomForestClassifier`; `LogisticRegression`
  with `max_iter=1000`, behind a `StandardScaler`. All else is at its defaults. Their time is that of `fit` alone.
- The most frequent class of the training rows, for every test row.

`scripts/compare-tables` makes the tables below anew. It installs scikit-learn into `target/tables`.

{BEGIN}
{END}
"""


def write_table(path, cells, labels):
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([f"x{column}" for column in range(len(cells[0]))] + ["target"])
        table.writerows([*row, label] for row, label in zip(cells, labels))


def ours(tinytrain, train, test):
    """Accuracy on the test rows, and seconds of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        write_table(f"{folder}/train.csv", *train)
        write_table(f"{folder}/test.csv", *test)
        command = [tinytrain, "train", "--data", f"{folder}/train.csv", "--test", f"{folder}/test.csv"]
        command += ["--device", "cpu", "--format", "json", "--out", f"{folder}/model"]
        begun = time.perf_counter()
        process = subprocess.run(command, capture_output=True, text=True)
        seconds = time.perf_counter() - begun
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{process.stderr[-2000:]}")
    events = [json.loads(line) for line in process.stdout.splitlines()]
    summary = [event for event in events if event["event"] == "summary"][-1]
    return summary["test_accuracy"], seconds


def peer(make, seed, train, test):
    """Accuracy on the test rows, and seconds of `fit`."""
    model = make(seed)
    values = [numpy.array(cells, dtype=float) for cells, _ in (train, test)]
    begun = time.perf_counter()
    with warnings.catch_warnings():
        # The defaults are what is compared, also where they end before convergence.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(values[0], train[1])
    seconds = time.perf_counter() - begun
    return model.score(values[1], test[1]), seconds


def measured(tinytrain):
    """For every problem and every program, accuracy and seconds of every split."""
    results = {}
    for problem, make in PROBLEMS.items():
        cells, labels = make()
        for seed in SEEDS:
            parts = train_test_split(cells, labels, test_size=0.2, stratify=labels, random_state=seed)
            train, test = (parts[0], parts[2]), (parts[1], parts[3])
            runs = {OURS: ours(tinytrain, train, test)}
            runs |= {name: peer(make, seed, train, test) for name, make in PEERS.items()}
            for name, run in runs.items():
                results.setdefault(problem, {}).setdefault(name, []).append(run)
                print(f"{problem}, split {seed}, {name}: {run[0]:.4f} in {run[1]:.2f} s", file=sys.stderr, flush=True)
    return results


def rows(results, names, cell):
    lines = [f"| table | {' | '.join(names)} |", "|---|" + "--:|" * len(names)]
    lines += [f"| {problem} | {' | '.join(cell(runs[name]) for name in names)} |" for problem, runs in results.items()]
    return lines


def accuracy(runs):
    shares = [100 * share for share, _ in runs]
    return f"{statistics.mean(shares):.1f} ± {statistics.stdev(shares):.1f}"


def seconds(runs):
    return f"{statistics.mean(seconds for _, seconds in runs):.3f}"


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    [tinytrain] = sys.argv[1:]
    version = subprocess.run([tinytrain, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    results = measured(tinytrain)
    section = [
        BEGIN,
        f"{time.strftime('%Y-%m-%d')}: {version}, scikit-learn {sklearn.__version__}, numpy {numpy.__version__}, Python",
        f"{platform.python_version()}; {os.cpu_count()} cores of {processor()}.",
        "",
        "Accuracy on the test rows in percent: mean and standard deviation of the five splits.",
        "",
        *rows(results, [OURS, *PEERS], accuracy),
        "",
        "Seconds for a fit: mean of the five splits.",
        "",
        *rows(results, [OURS, *list(PEERS)[:-1]], seconds),
        END,
    ]
    text = DOCUMENT.read_text() if DOCUMENT.exists() else TEXT
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    DOCUMENT.write_text(before + "\n".join(section) + after)
    print("\n".join(section[1:-1]))


main()
