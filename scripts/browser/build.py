"""The page as static files: the module, which cargo and wasm-bindgen make, the files of web/page, and bundled data."""
import gzip
import os
import re
import shutil
import subprocess
import sys

from common import ROOT

MODULE = ("tinytrain_web.js", "tinytrain_web_bg.wasm")
# WASM's vectors have 128 bits. LLVM's loop strength reduction replaces the addresses of a loop by a counter,
# which costs an instruction for each address in WASM, whose displacements are constant.
FLAGS = "-Ctarget-feature=+simd128 -Cllvm-args=-disable-lsr"
# Memory shared by workers, and requirements of wasm-bindgen for threads.
THREAD_FLAGS = " ".join((
    FLAGS, "-Ctarget-feature=+atomics,+bulk-memory,+mutable-globals", "-Clink-arg=--shared-memory", "-Clink-arg=--import-memory",
    "-Clink-arg=--max-memory=4294967296",
    *(f"-Clink-arg=--export={name}" for name in ("__wasm_init_tls", "__tls_size", "__tls_align", "__tls_base")),
))
DATA = (
    *(f"mnist/{name}-ubyte.gz" for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")),
    "tables/penguins.csv",
)
TARGET = "wasm32-unknown-unknown"


def bindgen():
    """The program wasm-bindgen; nothing where it is not installed."""
    return shutil.which(os.environ.get("WASM_BINDGEN", "wasm-bindgen"))


def has(kind, name):
    """Whether rustup has installed this target or component."""
    if shutil.which("rustup") is None:
        return False
    found = subprocess.run(["rustup", kind, "list", "--installed"], capture_output=True, text=True)
    return name in found.stdout.split()


def has_sources():
    """Whether the standard library can be compiled: WASM's, as it is handed out, has no threads."""
    return not has("target", TARGET) or has("component", "rust-src")


def build_module(out, has_threads=False):
    """Compiles the module, or the one with threads and without WebGPU, and writes it into a folder.

    Rustup's target is taken where it is installed, else Debian's rustc-web and rust-web-src. With TINYTRAIN_WEB_PROFILE=release it
    compiles faster what is larger and slower.
    """
    profile = os.environ.get("TINYTRAIN_WEB_PROFILE", "wasm")
    target = ROOT / ("target/web-threads" if has_threads else "target")
    build = ["cargo", "build", "--package", "tinytrain-web", "--target", TARGET, "--profile", profile, "--locked", "--target-dir", target]
    environment = {**os.environ, "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS": THREAD_FLAGS if has_threads else FLAGS}
    if has_threads:
        # wgpu does not assume threads.
        build.append("--no-default-features")
    if not has("target", TARGET):
        # Debian has the sources of the standard library for this target, not the library.
        environment |= {"RUSTC": "/usr/bin/rustc", "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER": "wasm-ld"}
    if has_threads or not has("target", TARGET):
        environment["RUSTC_BOOTSTRAP"] = "1"
        build.append("-Zbuild-std=std,panic_abort")
    subprocess.run(build, cwd=ROOT, env=environment, check=True)
    lock = (ROOT / "Cargo.lock").read_text()
    version = re.search(r'name = "wasm-bindgen"\nversion = "(.*)"', lock)[1]
    program = bindgen()
    found = program and subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
    if found != f"wasm-bindgen {version}":
        sys.exit(f"wasm-bindgen {version} is needed: cargo install wasm-bindgen-cli --version {version}")
    wasm = target / f"{TARGET}/{profile}/tinytrain_web.wasm"
    subprocess.run([program, "--target", "web", "--no-typescript", "--out-dir", out, wasm], check=True, stderr=subprocess.DEVNULL)


def assemble(out, module=None):
    """Writes the page into a folder, which is emptied before; with modules that are built already, or its own. The one with threads is in
    the folder `threads` of the other's."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ROOT / "web/page", out)
    has_threads = has_sources() if module is None else (module / "threads").is_dir()
    if module is None:
        build_module(out / "module")
        if has_threads:
            build_module(out / "threads", has_threads=True)
        else:
            print("the page trains with one thread: `rustup component add rust-src` gives it more")
    else:
        for folder, made in ("module", module), ("threads", module / "threads"):
            for name in MODULE if made.is_dir() else ():
                (out / folder).mkdir(exist_ok=True)
                shutil.copyfile(made / name, out / folder / name)
    manifest = (ROOT / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.*)"', manifest, re.MULTILINE)[1]
    (out / "version.js").write_text(
        f'/** The version of tinytrain. */\nexport const version = "{version}";\n'
        f"/** Whether there is a module with threads. */\nexport const hasThreads = {str(has_threads).lower()};\n"
    )
    for name in DATA:
        (out / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / "data" / name, out / "data" / name)


def size(out):
    """Bytes without the data, plain and packed by gzip."""
    files = [path for path in out.rglob("*") if path.is_file() and "data" not in path.relative_to(out).parts]
    contents = [path.read_bytes() for path in files]
    return sum(map(len, contents)), sum(len(gzip.compress(content, 9)) for content in contents)
