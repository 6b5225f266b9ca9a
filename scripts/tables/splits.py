"""How each table is divided into rows to train on and rows to test on."""

import pandas
from sklearn.model_selection import train_test_split

from problems import PROBLEMS

SEEDS = range(5)


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
