"""Reads event files of small runs with TensorBoard, and compares them with history.csv.

usage: compare.py TINYTRAIN

Exit status 1 if a scalar is missing, doubled, or not the one of the history as a 32-bit float.
"""

import csv
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from tensorboard import program as tensorboard_program
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT / "data" / "tables"
VALIDATED = ["--validation-fraction", "0.2"]
RUNS = {
    "wine": ["--data", TABLES / "wine.csv", "--test-fraction", "0.2", *VALIDATED, "--preset", "plain", "--epochs", "12"],
    "cosine": ["--data", TABLES / "wine.csv", *VALIDATED, "--epochs", "9", "--lr-schedule", "cosine", "--preset", "plain"],
    "diabetes": ["--data", TABLES / "diabetes.csv", "--target", "progression", *VALIDATED, "--epochs", "7"],
    "plain": ["--data", TABLES / "wine.csv", "--epochs", "5"],
}
OWN = {"learning_rate", "rows_per_second"}
SETS = ("train", "validation", "test")


def single(value):
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def history(run):
    """The columns of a history by their tags: lists of steps and values."""
    columns = {}
    with open(run / "history.csv", newline="") as opened:
        for row in csv.DictReader(opened):
            for name, cell in row.items():
                kind, _, measure = name.partition("_")
                if kind in SETS and cell:
                    columns.setdefault(f"{measure}/{kind}", []).append((int(row["epoch"]), single(cell)))
    return columns


def train(tinytrain, *arguments):
    subprocess.run([tinytrain, "train", *arguments, "--device", "cpu", "--quiet"], check=True, stdout=subprocess.DEVNULL)


def kill_and_go_on(tinytrain, run):
    """Kills a run when it has written some epochs, cuts its event file within a record, and goes on with it."""
    arguments = ["--data", TABLES / "digits.csv", "--target", "digit", *VALIDATED, "--preset", "plain"]
    command = [tinytrain, "train", *arguments, "--device", "cpu", "--quiet", "--tensorboard", "--epochs", "100000"]
    process = subprocess.Popen([*command, "--checkpoint-every", "7epochs", "--out", run], stdout=subprocess.DEVNULL)
    lines = 0
    while lines < 25 or not (run / "checkpoint.safetensors").exists():
        assert process.poll() is None, "the run has ended by itself"
        time.sleep(0.01)
        lines = (run / "history.csv").read_text().count("\n") if (run / "history.csv").exists() else 0
    process.kill()
    process.wait()
    (events,) = run.glob("events.out.tfevents.*")
    os.truncate(events, events.stat().st_size - 9)
    checked(run, None)
    train(tinytrain, "--resume", run, "--epochs", str(lines + 20))


def checked(run, columns):
    """Reads a run with EventAccumulator; compares it with the columns of its history, if these are given."""
    events = EventAccumulator(str(run)).Reload()
    tags = set(events.Tags()["scalars"])
    if columns is None:
        assert "loss/train" in tags, "TensorBoard reads nothing of a file that is cut"
        return
    assert tags == columns.keys() | OWN, tags ^ (columns.keys() | OWN)
    steps = [step for step, _ in columns["loss/train"]]
    for tag in tags:
        scalars = events.Scalars(tag)
        found = [scalar.step for scalar in scalars]
        # Rates of epochs that were added afterwards are not known any more.
        wanted = [step for step in steps if tag != "learning_rate" or step in found]
        assert found == wanted and len(found) >= len(steps) - 1, (run, tag, found)
        assert tag in OWN or [(scalar.step, scalar.value) for scalar in scalars] == columns[tag], (run, tag)
        times = [scalar.wall_time for scalar in scalars]
        assert times == sorted(times) and abs(times[-1] - time.time()) < 3600, (run, tag)
    start = events.SummaryMetadata(metadata.SESSION_START_INFO_TAG).plugin_data.content
    hparams = metadata.parse_session_start_info_plugin_data(start).hparams
    assert hparams["epochs"].number_value > 0 and hparams["optimizer"].string_value, hparams
    end = events.SummaryMetadata(metadata.SESSION_END_INFO_TAG).plugin_data.content
    assert metadata.parse_session_end_info_plugin_data(end).status == 1


def fetched(url, path, **query):
    data = json.dumps(query.pop("body")).encode() if "body" in query else None
    address = f"{url.rstrip('/')}/data/plugin/{path}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def served(folder, histories, loader):
    """What the server of TensorBoard answers, with its own loader or that of its data server."""
    board = tensorboard_program.TensorBoard()
    board.configure(argv=["tensorboard", "--logdir", str(folder), "--port", "0", "--load_fast", loader])
    url = board.launch()
    deadline = time.monotonic() + 120
    wanted = {(run, tag) for run, columns in histories.items() for tag in columns.keys() | OWN}
    while True:
        found = fetched(url, "scalars/tags")
        if wanted <= {(run, tag) for run, tags in found.items() for tag in tags}:
            break
        assert time.monotonic() < deadline, f"the server knows {found}"
        time.sleep(0.5)
    assert found.keys() == histories.keys(), found.keys()
    points = 0
    for run, columns in histories.items():
        for tag, column in columns.items():
            # The server may still be reading the last file of a run.
            while len(answer := fetched(url, "scalars/scalars", run=run, tag=tag)) < len(column):
                assert time.monotonic() < deadline, (run, tag, answer)
                time.sleep(0.5)
            assert [(step, single(value)) for _, step, value in answer] == column, (loader, run, tag, answer)
            points += len(column)
    experiment = fetched(url, "hparams/experiment", body={"experimentName": ""})
    names = {info["name"] for info in experiment["hparamInfos"]}
    assert {"lr", "epochs", "optimizer"} & names, experiment
    return points


def main():
    tinytrain = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for run, arguments in RUNS.items():
            train(tinytrain, *arguments, "--tensorboard", "--out", folder / run)
        train(tinytrain, "--resume", folder / "wine", "--epochs", "20")
        kill_and_go_on(tinytrain, folder / "killed")
        histories = {run: history(folder / run) for run in [*RUNS, "killed"]}
        for run, columns in histories.items():
            checked(folder / run, columns)
            steps = [step for step, _ in columns["loss/train"]]
            assert steps == list(range(1, len(steps) + 1)), (run, steps)
        print(f"{len(histories)} runs: every scalar that EventAccumulator reads is that of history.csv, each epoch once")
        for loader in ["false", "true"]:
            points = served(folder, histories, loader)
            print(f"tensorboard --load_fast={loader}: {points} points are those of history.csv")


main()
