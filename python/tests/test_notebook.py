"""The notebook runs from its first cell to its last, and what it asserts is true."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "python" / "tables.ipynb"


def test_the_notebook_runs():
    nbclient = pytest.importorskip("nbclient")
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "outputs are not kept in the repository"
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in shown if output.output_type == "error"] and len(shown) > 4
