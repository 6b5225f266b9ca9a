"""Prints the licences of all crates that a binary for a target holds.

usage: licences.py TARGET
"""

import json
import pathlib
import subprocess
import sys

# Names of licence files in crates.
NAMES = ("LICENSE*", "LICENCE*", "COPYING*", "UNLICENSE*", "NOTICE*", "license*")


def linked(metadata):
    """The ids of the packages that the root needs when it runs, and not only to be built or tested."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, open_ids = set(), [metadata["resolve"]["root"]]
    while open_ids:
        node = open_ids.pop()
        if node not in found:
            found.add(node)
            for dependency in nodes[node]["deps"]:
                if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                    open_ids.append(dependency["pkg"])
    return found - {metadata["resolve"]["root"]}


def main():
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", sys.argv[1]]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    ids = linked(metadata)
    packages = [package for package in metadata["packages"] if package["id"] in ids]
    print("Crates of which the program is made, and the texts of their licences. A text that several share stands once.")
    texts = {}
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        folder = pathlib.Path(package["manifest_path"]).parent
        name = f"{package['name']} {package['version']} ({package['license'] or 'see below'})"
        files = {path for pattern in NAMES for path in folder.glob(pattern) if path.is_file()}
        for path in sorted(files):
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            texts.setdefault(text, []).append(f"{name}, {path.name}")
        if not files:
            texts.setdefault("", []).append(name)
    bare = texts.pop("", [])
    for text, names in texts.items():
        print("\n" + "=" * 100 + "\n" + "\n".join(names) + "\n" + "-" * 100 + "\n" + text)
    if bare:
        print("\n" + "=" * 100 + "\nWithout a file of their own:\n" + "\n".join(bare))


main()
