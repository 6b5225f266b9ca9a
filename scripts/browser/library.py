"""The module without the page: kernels for the browser's compiler, and runs that are compared with the program's."""
import base64
import json
import os
import shutil
import subprocess

from browser import program
from browser.program import expect
from common import ROOT, TABLES

PENGUINS = {"file": "penguins.csv", "target": "species"}
DIABETES = {"file": "diabetes.csv", "target": "progression"}
SMALL = {"epochs": 3, "test-fraction": 0.25, "hidden": "24,12", "preset": "plain"}
# Names, tables, settings: plain gradient descent, the preset for tables, values, and all kinds of optimizer
# state.
RUNS = (
    ("plain", PENGUINS, SMALL),
    ("preset", PENGUINS, {"epochs": 2, "validation-fraction": 0.2, "test-fraction": 0.2, "hidden": "24,12"}),
    ("values", DIABETES, {**SMALL, "validation-fraction": 0.2, "activation": "gelu"}),
    ("adam", PENGUINS, {**SMALL, "optimizer": "adam", "activation": "mish", "dropout": "0.2", "label-smoothing": 0.1}),
)
SCHEDULES = ("fused", "two-dispatch", "plain")
# Maximum relative difference of the browser's loss after the last epoch from the CPU engine's.
LOSS_BOUND = 1e-3
# Runs trial.js in a worker, as the page runs the module, and stores its results: text, or bytes as base64.
COLLECT = """(() => {
  globalThis.found = {};
  const worker = new Worker("trial/trial.js", { type: "module" });
  worker.onerror = event => console.error(event.message);
  worker.onmessage = ({ data: [name, value] }) => { found[name] = value; };
})()"""


def add_to(site):
    """Puts the trial beside the page: its files, the kernels, tables, and what is to be trained."""
    trial = site / "trial"
    trial.mkdir()
    shutil.copyfile(ROOT / "scripts/browser/trial.js", trial / "trial.js")
    shutil.copytree(TABLES, trial / "tables")
    dump = ["cargo", "test", "--quiet", "--test", "layout", "kernels_are_handed_to_browsers"]
    environment = {**os.environ, "TINYTRAIN_KERNELS": str(trial / "kernels.json")}
    subprocess.run(dump, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    run = lambda name, table, settings, device: {
        "name": name,
        "file": f"tables/{table['file']}",
        "options": {"target": [table["target"]]},
        "settings": settings,
        "device": device,
    }
    runs = [run(name, table, settings, "cpu") for name, table, settings in RUNS]
    runs += [run(f"gpu-{kind}", PENGUINS, {**SMALL, "schedule": kind}, "gpu") for kind in SCHEDULES]
    (trial / "runs.json").write_text(json.dumps(runs))


def test(browser, address, folder):
    """Chromium's compiler takes all kernels, WASM trains the program's bits, and every schedule trains by WebGPU."""
    browser.open(f"{address}/")
    browser.run(COLLECT)
    browser.wait("found.done", 120)
    found = browser.run("found")
    contents = lambda name: base64.b64decode(found[name])
    print(f"{int(found['kernels'])} kernels are taken by the browser's compiler")
    for name, table, settings in RUNS:
        file = TABLES / table["file"]
        model, predictions = folder / f"{name}.safetensors", folder / f"{name}.csv"
        program.train(file, model, {"target": table["target"], **settings})
        expected = program.predict(model, file, predictions)
        same = program.tensors(contents(f"model/{name}")) == program.tensors(model.read_bytes())
        expect(same, f"{name}: WASM trains other bits than the program with vectors of 128 bits")
        expect(contents(f"predictions/{name}") == expected, f"{name}: the module predicts something else than the program")
        print(f"{name}: WASM trains and predicts the program's bits")
    loss_of = lambda name: json.loads(found[f"trained/{name}"])["done"]["epochs"][-1]["test"]["loss"]
    expected = loss_of("plain")
    for kind in SCHEDULES:
        trained, loss = json.loads(found[f"trained/gpu-{kind}"]), loss_of(f"gpu-{kind}")
        expect(trained["engine"] != "cpu" and not trained["notes"], f"{kind}: {trained['engine']} trained: {trained['notes']}")
        expect(abs(loss - expected) <= LOSS_BOUND * expected, f"{kind}: the loss is {loss}, of the CPU engine {expected}")
        print(f"{kind}: WebGPU trains to loss {loss:.6f}, the CPU engine to {expected:.6f}")
