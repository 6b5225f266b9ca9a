"""Lets Optuna choose the settings of sweeps. Any number of these processes, on all machines that see the folder, share a study.

usage: optuna_sweep.py TINYTRAIN FOLDER TRIALS BATCH OPTION...

FOLDER holds the study (Optuna's JournalStorage) and a folder of each sweep. TRIALS are trained in all, BATCH at a time by
each process. The OPTIONs are those of `tinytrain sweep`: --data, --target and so on.
"""

import json
import os
import pathlib
import subprocess
import sys

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState


def settings(trial):
    """What is tried. Names and values are options of `tinytrain train`."""
    return {
        "lr": trial.suggest_float("lr", 0.02, 0.3, log=True),
        "hidden": [256] * trial.suggest_int("layers", 1, 3),
        "dropout": trial.suggest_categorical("dropout", [0.0, 0.15, 0.3]),
        "activation": trial.suggest_categorical("activation", ["selu", "mish", "relu"]),
    }


def trained(tinytrain, folder, batch, options):
    """The members that a sweep of these settings has ended with."""
    command = [tinytrain, "sweep", "--settings", "-", "--format", "json", "--out", str(folder), *options]
    lines = "".join(json.dumps(member) + "\n" for member in batch)
    process = subprocess.run(command, input=lines, capture_output=True, text=True)
    # Exit code 3: not one member has given a network.
    if process.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)} failed:\n{process.stderr}")
    events = [json.loads(line) for line in process.stdout.splitlines()]
    return [event for event in events if event["event"] == "member"]


def main():
    tinytrain, folder, trials, batch, *options = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    storage = JournalStorage(JournalFileBackend(str(folder / "study.journal")))
    # Trials that others train now count as bad ones, so that nobody tries the same.
    sampler = optuna.samplers.TPESampler(constant_liar=True)
    study = optuna.create_study(
        study_name="tinytrain", storage=storage, sampler=sampler, direction="minimize", load_if_exists=True
    )
    begun = 0
    while len(study.get_trials(deepcopy=False)) < int(trials):
        asked = [study.ask() for _ in range(int(batch))]
        place = folder / f"sweep-{os.uname().nodename}-{os.getpid()}-{begun}"
        members = trained(tinytrain, place, [settings(trial) for trial in asked], options)
        losses = {member["member"]: member["loss"] for member in members if member["end"] != "failed"}
        for number, trial in enumerate(asked):
            if number in losses:
                study.tell(trial, losses[number])
            else:
                study.tell(trial, state=TrialState.FAIL)
        begun += 1
    done = [trial for trial in study.get_trials() if trial.state == TrialState.COMPLETE]
    print(f"{len(done)} trials, the best loss {study.best_value:.4f} with {json.dumps(study.best_params)}")


main()
