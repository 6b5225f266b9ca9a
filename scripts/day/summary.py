"""The tables, in Markdown, from the outputs of the parts."""

import json
import re
import statistics
import time

import common

# Rows of a batch.
BATCHES = {"W1": 64, "W2": 256, "W3": 16, "W3-64": 64}
TIMES = ("wall", "compute", "gaps", "recording", "loading", "waiting")


class Summary:
    """The tables of a day."""

    def __init__(self, day):
        self.day, self.outcomes, self.ours = day, {name: outcome for name, _, outcome in day.parts}, {}

    def text_of(self, name):
        path = self.day.out / name
        return path.read_text(errors="replace") if path.exists() else ""

    def value(self, name, key):
        """The last value of a key in the JSON of a part; nothing where there is none."""
        found = re.findall(rf'"{key}": *"?([^,"}}]*)', self.text_of(f"{name}.out"))
        return found[-1] if found else ""

    def number(self, name, key, form="{:.2f} s", factor=1):
        """A number, for a cell. A run that was ended has not said all."""
        value = self.value(name, key)
        return form.format(factor * float(value)) if value else ""

    def microseconds(self, network, epoch):
        """Those of a step."""
        return 1e6 * epoch / -(-self.day.rows // BATCHES[network])

    def steps(self, network, schedule):
        """A row of the table of networks and schedules."""
        name = f"steps-{network}-{schedule}"
        taken = self.value(name, "schedule")
        shown = f"default: {taken or '?'}" if schedule == "default" else schedule
        if schedule != "default" and taken and taken != schedule:
            refused = re.findall(r"schedule (.*):$", self.text_of(f"{name}.log"), re.MULTILINE)
            return common.row(network, shown, f"not possible: {''.join(refused[:1])}", "", "", "")
        lines = [json.loads(line) for line in self.text_of(f"{name}.out").splitlines() if line.endswith("}")]
        epochs = [line["seconds"] for line in lines if line["event"] == "epoch"]
        if not epochs:
            return common.row(network, shown, self.outcomes[name], "", "", "")
        # The first epoch includes compilation.
        epoch = statistics.median(epochs[1:] or epochs)
        took = self.microseconds(network, epoch)
        self.ours[network] = min(took, self.ours.get(network, took))
        first, accuracy = self.number(name, "first_batch_seconds"), self.number(name, "test_accuracy", "{:.2f} %", 100)
        return common.row(network, shown, f"{took:.1f}", f"{epoch:.4f}", first, accuracy)

    def peer(self, network, peer):
        name = f"peers-{network}-{peer}"
        epoch = self.value(name, "epoch_s")
        if not epoch:
            return common.row(network, peer, self.outcomes[name], "", "", "")
        took = self.microseconds(network, float(epoch))
        ratio = f"{took / self.ours[network]:.1f}" if network in self.ours else ""
        first, accuracy = self.number(name, "first_batch_s"), self.number(name, "quality", "{:.2f} %", 100)
        title = json.loads(self.text_of(f"{name}.out").splitlines()[-1])["peer"]
        return common.row(network, title, f"{took:.1f}", ratio, first, accuracy)

    def profile(self, network):
        name = f"profile-{network}"
        steps = self.value(name, "steps")
        if not steps:
            return common.row(network, self.outcomes[name], *[""] * len(TIMES))
        times = [self.number(name, f"{key}_us", "{:.1f}", 1 / int(steps)) for key in TIMES]
        return common.row(network, self.value(name, "schedule"), *times)

    def check(self, name, title):
        """How many comparisons passed, and those that failed."""
        lines = self.text_of(f"{name}.out").splitlines()
        failed = [f"    {line}" for line in lines if '"passed":false' in line]
        passed = sum('"passed":true' in line for line in lines)
        return [f"- {title}: {passed} comparisons passed, {len(failed)} failed ({self.outcomes[name]})", *failed]

    def rows(self, kind, make):
        """The rows of the parts of a kind, in the order of the networks."""
        names = [name.removeprefix(f"{kind}-") for name in self.outcomes if name.startswith(f"{kind}-")]
        splits = [re.fullmatch("(W3-64|W[123])-?(.*)", name).groups() for name in names]
        splits.sort(key=lambda split: [*BATCHES].index(split[0]))
        return [make(*filter(None, split)) for split in splits]

    def text(self):
        day = self.day
        revision = self.text_of(day.tinytrain.with_name("revision")).strip() or "unknown"
        checks = {"check": "every kernel against f64", "checked": "the same with `--bounds-checks`"}
        columns = "us per step", "seconds per epoch", "first batch after", "test accuracy"
        of_peers = "us per step", "of our best", "first batch after", "test accuracy"
        parts = [common.row(*part) for part in day.parts]
        kernels = [line for line in self.text_of("kernels.out").splitlines() if line.startswith(("ceilings", "|"))]
        lines = [
            f"# A day on {day.device}",
            "",
            f"`scripts/gpu-day`, {time.strftime('%Y-%m-%d', time.gmtime())}, revision {revision}: {day.device},"
            f" driver {day.driver}; {common.processor()}. MNIST, {day.rows} rows. The median of all epochs but the first.",
            "",
            *(line for name, title in checks.items() if name in self.outcomes for line in self.check(name, title)),
            "",
            common.head("network", "schedule", *columns),
            *self.rows("steps", self.steps),
            "",
            common.head("network", "peer", *of_peers) if day.peers else "Neither PyTorch nor JAX was there, or asked for.",
            *self.rows("peers", self.peer),
            "",
            "Where the time of a step goes (`tinytrain profile`, 200 steps), microseconds:",
            "",
            common.head("network", "schedule", *TIMES),
            *self.rows("profile", self.profile),
            "",
            "Whole runs, from start to exit: the preset for tables on digits, and a sweep of 64 networks 784-32-10:",
            "",
            common.head("run", "seconds", "how it ended"),
            *(line.replace("| runs-", "| ", 1) for line in parts if line.startswith("| runs-")),
            "",
            "Every kernel by itself:",
            "",
            *(kernels or [f"none: {self.outcomes.get('kernels', '')}"]),
            "",
            common.head("part", "seconds", "how it ended"),
            *parts,
        ]
        return "\n".join(lines) + "\n"
