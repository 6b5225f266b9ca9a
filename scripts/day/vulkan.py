"""Vulkan on machines that were set up for CUDA alone: there the loader, or the file that names NVIDIA's driver to it,
may be missing while the driver is there."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

# Folders that may contain a driver, besides the system's; the second library needs no window system.
PLACES = ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64")
LIBRARIES = ("libGLX_nvidia.so.0", "libEGL_nvidia.so.0")
FILES = ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", *map("/".join, product(PLACES, LIBRARIES)))


def loader():
    """The path of the loader here, if there is one."""
    path = {**os.environ, "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"}
    said = subprocess.run("ldconfig -p", shell=True, env=path, capture_output=True, text=True).stdout
    return next((line.split()[-1] for line in said.splitlines() if line.split()[0] == "libvulkan.so.1"), None)


def find(tinytrain, work):
    """Sets the environment so that a packed loader is found, and NVIDIA's driver if no file here leads to it."""
    if not loader() and tinytrain.with_name("libvulkan.so.1").exists():
        os.environ["LD_LIBRARY_PATH"] = f"{tinytrain.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        print("no Vulkan loader here: the packed one is taken", file=sys.stderr)
    named = os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES")
    if named or not Path("/dev/nvidiactl").exists():
        return
    # The existing file may name a library that needs a window system.
    devices = subprocess.run(["timeout", "20", tinytrain, "devices"], capture_output=True, text=True).stdout
    if "nvidia" in devices.lower():
        return
    found = []
    for library in LIBRARIES:
        place = next((place for place in PLACES if Path(place, library).exists()), None)
        if place:
            driver = {"library_path": f"{place}/{library}", "api_version": "1.3.0"}
            file = work / f"{library}.json"
            file.write_text(json.dumps({"file_format_version": "1.0.1", "ICD": driver}))
            found.append(str(file))
    if found:
        os.environ["VK_DRIVER_FILES"] = ":".join(found)
    shown = ":".join(found) or "and no driver was found"
    print(f"no file here leads to NVIDIA's driver for Vulkan: {shown}", file=sys.stderr)
