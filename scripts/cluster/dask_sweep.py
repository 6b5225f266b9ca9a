"""Trains the shards of a sweep on the workers of a Dask cluster and puts them together.

usage: dask_sweep.py TINYTRAIN FOLDER SHARDS ADDRESS OPTION...

ADDRESS is that of the scheduler, or `local` for a cluster of two processes on this machine. All workers see FOLDER and the data.
The OPTIONs are those of `tinytrain sweep`: --data, --target, --trials and so on.
"""

import pathlib
import subprocess
import sys

from dask.distributed import Client


def shard(tinytrain, folder, index, count, options):
    """Trains a shard, or goes on with it; gives its folder."""
    place = folder / f"shard-{index}"
    begin = ["--shard", f"{index}/{count}", "--out", str(place), *options]
    command = ["--resume", str(place)] if (place / "sweep.json").exists() else begin
    process = subprocess.run([tinytrain, "sweep", *command, "--quiet"], capture_output=True, text=True)
    if process.returncode != 0:
        raise RuntimeError(process.stderr)
    return str(place)


def main():
    tinytrain, folder, count, address, *options = sys.argv[1:]
    folder, count = pathlib.Path(folder), int(count)
    client = Client(n_workers=2, threads_per_worker=1) if address == "local" else Client(address)
    with client:
        # A worker that is lost has its shard trained by another, which goes on where it was.
        tasks = [
            client.submit(shard, tinytrain, folder, index, count, options, pure=False, retries=2)
            for index in range(1, count + 1)
        ]
        shards = client.gather(tasks)
    subprocess.run([tinytrain, "sweep", "merge", *shards, "--out", str(folder / "whole")], check=True)


if __name__ == "__main__":
    main()
