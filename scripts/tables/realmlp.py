"""The preset for tables beside the network that it is made after, RealMLP-TD-S of pytabkit, on the tables of docs/TABLES.md.

usage: realmlp.py TINYTRAIN RESULTS [TABLE...]   (in a Python with requirements.txt, torch and pytabkit==1.7.3 installed)

RESULTS is a file of JSON lines, one a split that is done; those that stand there already are not trained again. The document tells
of the tables all of whose splits are there. Each network holds out a fifth of the training rows to choose its best epoch. RealMLP takes medians for missing numbers,
which it refuses.
"""

import pathlib
import statistics
import sys
import time
import warnings

import pandas
from pytabkit import RealMLP_TD_S_Classifier, RealMLP_TD_S_Regressor
from sklearn.preprocessing import LabelEncoder

from problems import PROBLEMS
from splits import VALIDATED, is_class, measured, ours, parts

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "TABLES.md"
BEGIN, END = "<!-- realmlp: begin -->", "<!-- realmlp: end -->"
SEEDS = range(10)
OURS = {"tinytrain": VALIDATED, "same recipe": [*VALIDATED, "--embeddings", "none", "--patience", "none"]}


def realmlp(seed, train, test):
    """Accuracy or R2 on the test rows of RealMLP-TD-S."""
    (frame, target), (test_frame, test_target) = train, test
    model = RealMLP_TD_S_Classifier if is_class(target) else RealMLP_TD_S_Regressor
    model = model(device="cpu", random_state=seed, n_cv=1, n_refit=0, n_repeats=1, val_fraction=0.2, n_threads=1, verbosity=0)
    text = [column for column in frame if not pandas.api.types.is_numeric_dtype(frame[column])]
    kinds = {column: pandas.CategoricalDtype(sorted(frame[column].dropna().unique())) for column in text}
    kinds |= {column: float for column in frame if column not in text}
    frame, test_frame = frame.astype(kinds), test_frame.astype(kinds)
    medians = frame.drop(columns=text).median()
    frame, test_frame = frame.fillna(medians), test_frame.fillna(medians)
    if is_class(target):
        names = LabelEncoder().fit(target)
        target, test_target = names.transform(target), names.transform(test_target)
    model.fit(frame, target)
    return model.score(test_frame, test_target)


def scores(tinytrain, problem, seed):
    """Accuracy or R2 on the test rows of a split, by name."""
    train, test = parts(problem, seed)
    found = {"RealMLP-TD-S": realmlp(seed, train, test)}
    return found | {name: ours(tinytrain, options, seed, train, test)[0] for name, options in OURS.items()}


def mean_and_error(values):
    """The mean of the splits and its standard error, in percent."""
    return 100 * statistics.mean(values), 100 * statistics.stdev(values) / len(values) ** 0.5


def main():
    tinytrain, path, *wanted = sys.argv[1:]
    # pytabkit and torch warn of each other.
    warnings.simplefilter("ignore")
    pairs = ((problem, seed) for problem in wanted or PROBLEMS for seed in SEEDS)
    done = measured(pathlib.Path(path), pairs, lambda problem, seed: scores(tinytrain, problem, seed))
    whole = (problem for problem in PROBLEMS if all((problem, seed) in done for seed in SEEDS))
    results = {problem: [done[problem, seed] for seed in SEEDS] for problem in whole}
    names = [*OURS, "RealMLP-TD-S"]
    lines, ahead, means = [], {name: [0, 0, 0] for name in OURS}, {name: [] for name in names}
    for problem, rows in results.items():
        cells = []
        for name in names:
            mean, error = mean_and_error([row[name] for row in rows])
            means[name].append(mean)
            cells.append(f"{mean:.1f} ± {error:.1f}")
        for name in OURS:
            gain, error = mean_and_error([row[name] - row["RealMLP-TD-S"] for row in rows])
            cells.append(f"{gain:+.1f} ± {error:.1f}")
            ahead[name][0 if gain > error else 2 if gain < -error else 1] += 1
        lines.append(f"| {problem} | {' | '.join(cells)} |")
    lines.append(f"| mean | {' | '.join(f'{statistics.mean(means[name]):.1f}' for name in names)} |" + " |" * len(OURS))
    section = [
        BEGIN,
        f"{time.strftime('%Y-%m-%d')}: {len(SEEDS)} splits.",
        "",
        f"| table | {' | '.join(names)} | {' | '.join(f'{name}: gain' for name in OURS)} |",
        "|---|" + "--:|" * (len(names) + len(OURS)),
        *lines,
        "",
        *(f"{name} is better by more than a standard error on {b} tables, within it on {w}, worse on {l}." for name, (b, w, l) in ahead.items()),
        END,
    ]
    text = DOCUMENT.read_text()
    DOCUMENT.write_text(text.split(BEGIN)[0] + "\n".join(section) + text.split(END)[1])
    print("\n".join(section[1:-1]))


main()
