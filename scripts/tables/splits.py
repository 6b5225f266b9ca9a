"""How each table is divided into rows to train on and rows to test on, and how tinytrain trains on them."""

import json
import subprocess
import sys
import tempfile
import time

import pandas
from sklearn.model_selection import train_test_split

from problems import PROBLEMS

SEEDS = range(5)
VALIDATED = ["--validation-fraction", "0.2"]


def is_class(target):
    return not pandas.api.types.is_numeric_dtype(target)


def parts(problem, seed):
    """Rows to train on and rows to test on, each with their targets."""
    frame, target = PROBLEMS[problem]()
    classes = target if is_class(target) else None
    divided = train_test_split(frame, target, test_size=0.2, stratify=classes, random_state=seed)
    return (divided[0], divided[2]), (divided[1], divided[3])


def write(folder, train, test):
    """Both as `train.csv` and `test.csv`, targets in the column `target`."""
    for name, (frame, target) in (("train", train), ("test", test)):
        frame.assign(target=target).to_csv(f"{folder}/{name}.csv", index=False)


def trained(tinytrain, command, options, seed, train, test):
    """The events that `tinytrain train` or `tinytrain sweep` tells of a split, and the seconds of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder, train, test)
        line = [tinytrain, command, "--data", f"{folder}/train.csv", "--test", f"{folder}/test.csv"]
        line += ["--target", "target", "--task", "classification" if is_class(train[1]) else "regression"]
        line += ["--seed", str(seed), "--device", "cpu", "--format", "json"]
        line += ["--out", f"{folder}/{'model.safetensors' if command == 'train' else command}", *options]
        begun = time.perf_counter()
        process = subprocess.run(line, capture_output=True, text=True)
        seconds = time.perf_counter() - begun
    if process.returncode != 0:
        sys.exit(f"{' '.join(line)} failed:\n{process.stderr[-2000:]}")
    return [json.loads(line) for line in process.stdout.splitlines()], seconds


def measure(train):
    """What the program calls what is compared."""
    return "test_accuracy" if is_class(train[1]) else "test_r2"


def ours(tinytrain, options, seed, train, test):
    """Accuracy or R2 on the test rows, and seconds of the whole process."""
    events, seconds = trained(tinytrain, "train", options, seed, train, test)
    return events[-1][measure(train)], seconds


def measured(path, wanted, work):
    """What `work(table, seed)` gives, a dict, for all of these that do not stand in a file of JSON lines already, to which it is added. All that
    stand there then, by table and seed."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row["table"], row["split"]): row for row in rows}
    for table, seed in wanted:
        if (table, seed) not in done:
            done[table, seed] = {"table": table, "split": seed, **work(table, seed)}
            with path.open("a") as file:
                print(json.dumps(done[table, seed]), file=file)
            print(done[table, seed], file=sys.stderr, flush=True)
    return done
