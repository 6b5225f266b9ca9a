"""The page itself: what it shows and hands out is compared with the program."""
import functools
import json
import math
import re
import time

from browser import library, program
from browser.program import expect
from browser.server import in_background
from common import TABLES, first_images

ROWS = 2000
SETTINGS = {"hidden": "32", "epochs": 2, "seed": 3}
HELD_OUT = {"test-fraction": 0.2, "validation-fraction": 0.2, "epochs": 12}
# Maximum relative difference between losses on WebGPU and the CPU engine.
LOSS_BOUND = 1e-3

# A handwritten 3: an arc, and a larger one below.
ARCS = ((0.5, 0.33, 0.2, 0.14, -0.9, 2.8), (0.5, 0.64, 0.22, 0.17, 0.0, 4.2))
THREE = [
    (x + wide * math.sin(begin + (end - begin) * step / 8), y - high * math.cos(begin + (end - begin) * step / 8))
    for x, y, wide, high, begin, end in ARCS
    for step in range(9)
]


def state(name):
    """A script: how far a run is."""
    return f"document.querySelector('#{name}-train').closest('.run').dataset.state"


def button(within, text):
    """A script that clicks on the button that says so."""
    return f"[...document.querySelectorAll('{within} button')].find(it => it.textContent === {json.dumps(text)}).click()"


class Page:
    """The tests of the page at an address; each is given a browser. Pictures go to `shots`."""

    def __init__(self, address, folder, shots):
        self.address, self.folder, self.shots = address, folder, shots

    def shoot(self, browser, name):
        """Pictures of this state: wide and narrow, light and dark; the narrow page is no wider than the window."""
        for width in (1280, 360):
            for is_dark in (False, True):
                browser.look(width, is_dark=is_dark)
                # Waits for fading elements.
                time.sleep(0.2)
                browser.shoot(self.shots / f"{name}-{width}-{'dark' if is_dark else 'light'}.png")
            wide = browser.run("document.documentElement.scrollWidth")
            expect(wide <= width, f"{name}: the page is {wide} wide in a window of {width}")
        browser.look(1280)

    @functools.cache
    def native(self):
        """The program's model of the subset, and what it told of its epochs."""
        model = self.folder / "native.safetensors"
        told = program.train(first_images(self.folder / "mnist", ROWS), model, SETTINGS)
        return model, [event for event in told if event["event"] == "epoch"]

    def mnist(self, browser, device):
        """Trains on a subset; gives the model and the rows of the table of epochs, the last first."""
        query = "&".join(f"{name}={value}" for name, value in {**SETTINGS, "device": device, "rows": ROWS}.items())
        browser.open(f"{self.address}/?{query}")
        browser.click("#mnist-train")
        browser.wait(f"{state('mnist')} === 'ended'", 60)
        said = browser.text("#mnist-status")
        expect(said.startswith("Done after 2 epochs"), said)
        notes = browser.text("#mnist-run .notes")
        expect(not notes, f"{device}: {notes}")
        browser.run("document.querySelector('#mnist-run details').open = true")
        epochs = browser.run("[...document.querySelectorAll('#mnist-run tbody tr')].map(row => [...row.cells].map(it => it.textContent))")
        model = browser.download("model.safetensors", button("#mnist-run", "model.safetensors"))
        return model, epochs

    def library(self, browser):
        """The module without the page."""
        library.test(browser, self.address, self.folder)

    def trains_as_the_program(self, browser):
        """WASM trains the program's bits, WebGPU to nearly its loss."""
        native, expected = self.native()
        model, epochs = self.mnist(browser, "cpu")
        expect(program.tensors(model) == program.tensors(native.read_bytes()), "MNIST: WASM trains other bits than the program")
        losses = [float(epoch[3]) for epoch in epochs]
        expect(losses == [round(epoch["test_loss"], 4) for epoch in expected[::-1]], f"MNIST: losses {losses}")
        print(f"MNIST: WASM trains the program's bits, test loss {losses[0]}")
        self.draws_a_digit(browser, native)
        self.shoot(browser, "mnist")
        _, epochs = self.mnist(browser, "gpu")
        by, loss = browser.text("#mnist-run .figures"), float(epochs[0][3])
        expect("WebGPU" in by, f"not WebGPU trained: {by}")
        # The page shows rounded numbers.
        expect(abs(loss - losses[0]) <= LOSS_BOUND * losses[0] + 1e-4, f"MNIST: the loss on WebGPU is {loss}, of the CPU engine {losses[0]}")
        print(f"MNIST: WebGPU trains to test loss {loss}")

    def trains_with_threads(self, browser):
        """The program's bits with any number of threads, of which the page says how many there are."""
        browser.open(f"{self.address}/")
        if not browser.run("import('./version.js').then(it => it.hasThreads)"):
            return print("threads: there is no module with them: not tested")
        settings = {**SETTINGS, "hidden": "300,100", "batch-size": 64, "epochs": 1}
        native = self.folder / "threads.safetensors"
        self.native()
        program.train(self.folder / "mnist", native, settings)
        # A host that sends no headers has one thread, however many are requested.
        server, plain = in_background(self.folder / "site", {})
        for address, asked, threads in ((self.address, 1, 1), (self.address, 2, 2), (self.address, 3, 3), (plain, 2, 1)):
            query = "&".join(f"{name}={value}" for name, value in {**settings, "device": "cpu", "rows": ROWS, "threads": asked}.items())
            browser.open(f"{address}/?{query}")
            browser.click("#mnist-train")
            browser.wait(f"{state('mnist')} === 'ended'", 60)
            by = browser.text("#mnist-run .figures")
            expect(f"({threads} thread{'s' * (threads > 1)})" in by, f"{threads} threads were asked for: {by}")
            model = browser.download("model.safetensors", button("#mnist-run", "model.safetensors"))
            expect(program.tensors(model) == program.tensors(native.read_bytes()), f"{threads} threads train other bits than the program")
        server.shutdown()
        print("MNIST: 1, 2 and 3 threads in WASM train the program's bits")

    def draws_a_digit(self, browser, model):
        """What is drawn is classified as the program classifies the same pixels, while the pen moves."""
        points = [browser.place("#pad", *point) for point in THREE]
        mouse = browser.page.mouse
        mouse.move(*points[0])
        mouse.down()
        for point in points[1:12]:
            mouse.move(*point)
        browser.wait("document.querySelector('.bars .best')", 10)
        for point in points[12:]:
            mouse.move(*point)
        mouse.up()
        browser.wait("document.querySelector('#digit-answer').textContent", 10)
        # The picture's opacity contains the network's input.
        pixels = browser.run("[...document.querySelector('.seen').getContext('2d').getImageData(0, 0, 28, 28).data].filter((_, at) => at % 4 === 3)")
        mass = sum(pixels)
        centre = [sum(grey * ((at % 28 if axis == 0 else at // 28) + 0.5) for at, grey in enumerate(pixels)) / mass for axis in (0, 1)]
        expect(all(abs(place - 14) < 0.1 for place in centre), f"the digit's centre of mass is at {centre}")
        rows = [at // 28 for at, grey in enumerate(pixels) if grey > 127]
        expect(18 <= max(rows) - min(rows) + 1 <= 20, f"the digit is {max(rows) - min(rows) + 1} pixels high")
        file = program.image_file(self.folder / "drawn-idx3-ubyte", pixels)
        text = program.predict(model, file, self.folder / "drawn.csv").decode()
        expected = [f"{100 * float(share):.1f} %" for share in text.splitlines()[1].split(",")[1:]]
        shown = browser.run("[...document.querySelectorAll('.bars .share')].map(it => it.textContent)")
        expect(shown == expected, f"the page shows {shown}, the program predicts {expected}")
        print(f"Drawing: {browser.text('#digit-answer')} The program predicts the same.")

    def pauses_and_stops(self, browser):
        """A run stands still, goes on and ends at once; the page draws frames meanwhile."""
        browser.open(f"{self.address}/?epochs=1000&device=cpu&rows=20000")
        browser.click("#mnist-train")
        browser.wait("document.querySelector('#mnist-run .dot')", 30)
        frames = browser.run("new Promise(done => { let [count, begin] = [0, performance.now()]; const next = now => now - begin > 2000 ? done(count / 2) : (count++, requestAnimationFrame(next)); requestAnimationFrame(next); })")
        print(f"{frames:.0f} frames a second while the CPU engine trains")
        self.shoot(browser, "training")
        browser.click("#mnist-train")
        browser.wait(f"{state('mnist')} === 'paused'")
        time.sleep(0.5)
        figures = browser.text("#mnist-run .figures")
        time.sleep(0.7)
        expect(browser.text("#mnist-run .figures") == figures, "a paused run goes on")
        browser.click("#mnist-train")
        browser.wait(f"document.querySelector('#mnist-run .figures').textContent !== {json.dumps(figures)}", 10)
        browser.click("#mnist-stop")
        browser.wait(f"{state('mnist')} === 'ended'", 10)
        said = browser.text("#mnist-status")
        expect(said.startswith("Stopped after"), said)

    def refuses(self, browser):
        """What is wrong is said, and where."""
        browser.open(f"{self.address}/?lr=fast&rows=500")
        browser.click("#mnist-train")
        browser.wait(f"{state('mnist')} === 'ended'", 30)
        said = browser.text("#mnist-status")
        expect("lr" in said and browser.run("document.querySelector('#mnist-lr').ariaInvalid") == "true", f"lr=fast: {said}")
        bad = self.folder / "bad.csv"
        bad.write_text("a,b,class\n1,2,x\n3,4\n")
        browser.click("#tab-table")
        browser.drop(".drop", bad)
        browser.wait("document.querySelector('#table-read.error')", 10)
        print(f"Refused: {said}; {browser.text('#table-read')}")
        self.shoot(browser, "refused")

    def table(self, browser):
        """A dropped table is understood and trained on; model, predictions and ONNX are the program's."""
        file = TABLES / "wine.csv"
        query = "&".join(f"{name}={value}" for name, value in {**HELD_OUT, "device": "cpu"}.items())
        browser.open(f"{self.address}/?{query}#table")
        self.shoot(browser, "table-empty")
        browser.drop(".drop", file)
        browser.wait("!document.querySelector('#table-training').hidden", 20)
        said = browser.text("#table-read")
        expect(said == "wine.csv: 178 rows, 13 columns, 3 classes of class.", said)
        browser.click("#table-train")
        browser.wait("document.querySelector('#importance')", 60)
        browser.run("document.querySelector('#importance').click()")
        browser.wait("!document.querySelector('#importance')", 30)
        browser.choose("#table-use-model input[type=file]", file)
        browser.wait("document.querySelector('#table-predicted').textContent.includes('178 rows predicted')", 20)
        self.shoot(browser, "table")
        predictions = browser.download("predictions.csv", button("#table-use-model", "predictions.csv"))
        contents = browser.download("model.safetensors", button("#table-use-model", "model.safetensors"))
        onnx = browser.download("model.onnx", button("#table-use-model", "model.onnx"))
        native, page = self.folder / "wine.safetensors", self.folder / "page.safetensors"
        summary = program.train(file, native, HELD_OUT)[-1]
        page.write_bytes(contents)
        expect(program.tensors(contents) == program.tensors(native.read_bytes()), "wine.csv: the page trains other bits than the program")
        expect(program.predict(page, file, self.folder / "wine.csv") == predictions, "wine.csv: the program predicts something else with the page's model")
        # The graph has the name of its file.
        exported = self.folder / "exported" / "model.onnx"
        exported.parent.mkdir()
        program.run("export", "--format", "onnx", "--model", page, "--out", exported)
        expect(onnx == exported.read_bytes(), "the page's ONNX is not the program's")
        shown = dict(browser.run("[...[...document.querySelectorAll('#table-training .table')].at(-2).querySelectorAll('tbody tr')].map(row => [row.cells[0].textContent, row.cells[1].textContent])"))
        scores = {"loss": "test_loss", "accuracy": "test_accuracy", "auc": "test_auc"}
        expect(all(shown[name] == f"{summary[of]:.4f}" for name, of in scores.items()), f"the page scores {shown}, the program {summary}")
        print(f"wine.csv: bits, predictions and scores ({shown}) of the program")

    def chooses_columns(self, browser):
        """Target, task and columns are chosen; what is wrong with a choice is said, and mended by another."""
        change = lambda name, value: browser.run(
            f"(() => {{ const it = document.querySelector('#table-{name}'); it.value = '{value}'; it.dispatchEvent(new Event('change')); }})()"
        )
        says = lambda words: browser.wait(f"document.querySelector('#table-read').textContent.includes({json.dumps(words)})", 10)
        browser.open(f"{self.address}/#table")
        browser.click("#penguins")
        says("344 rows, 7 columns, 3 classes of species")
        change("target", "body_mass_g")
        says("drop-missing-target")
        browser.click("#table-drops")
        says("342 rows, 7 columns, 2 rows without a target left out, values of body_mass_g")
        browser.run("[...document.querySelectorAll('#table input[type=checkbox]')].find(it => it.ariaLabel === 'use year').click()")
        says("342 rows, 6 columns")
        browser.choose("#table-choose input[type=file]", TABLES / "diabetes.csv")
        says("442 rows, 11 columns. Which column is the target?")
        expect(browser.run("document.querySelector('#table-training').hidden"), "a table without a target can be trained on")
        change("target", "progression")
        says("442 rows, 10 columns, values of progression")

    def takes_models(self, browser):
        """Models of the program are used: of a table, and of images."""
        file = TABLES / "diabetes.csv"
        values = self.folder / "values.safetensors"
        program.train(file, values, {"target": "progression", "epochs": 3})
        browser.open(f"{self.address}/#table")
        browser.drop(".drop", values)
        browser.wait("!document.querySelector('#table-use-model').hidden", 10)
        browser.choose("#table-use-model input[type=file]", file)
        browser.wait("document.querySelector('#table-predicted').textContent.includes('442 rows')", 10)
        predictions = browser.download("predictions.csv", button("#table-use-model", "predictions.csv"))
        expect(program.predict(values, file, self.folder / "values.csv") == predictions, "a model of the program predicts something else in the page")
        self.shoot(browser, "model")
        images, _ = self.native()
        browser.drop(".drop", images)
        browser.wait("!document.querySelector('#mnist-loaded').hidden", 10)
        self.draws_a_digit(browser, images)

    def machine(self, browser):
        """The CPU engine is right, and the benchmark ends with a line of text."""
        browser.open(f"{self.address}/?rows=500&bench")
        browser.wait("document.querySelector('#bench-text')", 60)
        line = browser.text("#bench-text")
        expect(re.fullmatch(r"tinytrain [\d.]+ \| .* \| W1 .* s \(.* %(, \d+ threads?)?\), .* \| .*", line), line)
        print(line)
        browser.run("document.querySelector('#check-cpu').click()")
        browser.wait("document.querySelector('#check-status').textContent.includes('all passed')", 30)
        print(browser.text("#check-status"))
        self.shoot(browser, "machine")

    def checks_webgpu(self, browser):
        """Every kernel is right on the browser's device; it takes minutes on a driver in software."""
        browser.open(f"{self.address}/#machine")
        browser.click("#check-gpu")
        browser.wait("document.querySelector('#check-status').textContent.includes('in f64,')", 500)
        said = browser.text("#check-status")
        expect("all passed" in said, f"{said} {browser.text('#check-results')}")
        print(said)
        self.shoot(browser, "checked")

    def keyboard_and_names(self, browser):
        """All can be reached by the keyboard, and has a name."""
        browser.open(f"{self.address}/?rows=500&epochs=1&hidden=16&device=cpu")
        browser.run("document.querySelector('#tab-mnist').focus()")
        for key, tab in zip(["ArrowRight"] * 3 + ["ArrowLeft", "ArrowRight"], ["table", "machine", "mnist", "machine", "mnist"]):
            browser.page.keyboard.press(key)
            expect(browser.run(f"!document.querySelector('#{tab}').hidden && document.activeElement.id") == f"tab-{tab}", f"{key} does not open {tab}")
        for _ in range(60):
            browser.page.keyboard.press("Tab")
            if browser.run("document.activeElement.id") == "mnist-train":
                break
        browser.page.keyboard.press("Enter")
        browser.wait(f"{state('mnist')} === 'ended'", 30)
        unnamed = browser.run(
            "[...document.querySelectorAll('button, input, select, [role=img], [role=region], progress')].filter(it =>"
            " !(it.ariaLabel || it.textContent.trim() && it.matches('button, svg') || it.labels?.length || it.getAttribute('aria-labelledby'))).map(it => it.outerHTML)"
        )
        expect(not unnamed, f"without a name: {unnamed}")

    def without_webgpu(self, browser):
        """The page says that there is no WebGPU, and trains all the same."""
        browser.open(f"{self.address}/?rows=500&epochs=1&hidden=16")
        said = browser.text("#engine")
        expect("No WebGPU" in said, said)
        browser.click("#mnist-train")
        browser.wait(f"{state('mnist')} === 'ended'", 30)
        expect("CPU engine" in browser.text("#mnist-run .figures"), "what trains?")
        self.shoot(browser, "without-webgpu")
        self.machine(browser)
