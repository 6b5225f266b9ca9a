# The programs of the day: built, or those that were packed. Sets tinytrain and kernels.

# What stands in a packed folder beside the programs.
readonly CARRIED=(scripts/gpu-day scripts/day scripts/peers data/mnist data/tables)

programs() {
    local place=$root/bin
    if [ ! -f "$place/tinytrain" ]; then
        place=$root/target/gpu-day/bin
        if command -v cargo >/dev/null; then
            build "$place"
        elif [ ! -f "$place/tinytrain" ]; then
            fail "there is no cargo here, and no packed programs in $place: see --pack"
        fi
    fi
    tinytrain=$place/tinytrain kernels=$place/kernels
}

# Builds into a folder: tinytrain, kernels (the benchmark), revision.
build() (
    place=$1
    echo "building" >&2
    mkdir -p "$place"
    cd "$root"
    cargo build --release --quiet
    bench=$(cargo bench --bench kernels --no-run 2>&1 | tee /dev/stderr | sed -n 's/.*Executable.*(\(.*\))$/\1/p')
    cp "${CARGO_TARGET_DIR:-target}/release/tinytrain" "$place/tinytrain"
    cp "$bench" "$place/kernels"
    git describe --always --dirty >"$place/revision" 2>/dev/null || true
)

# A folder that runs on a machine without cargo and without network.
gather() {
    local folder=$1 part loader
    for part in "${CARRIED[@]}"; do
        mkdir -p "$folder/$(dirname "$part")"
        cp -r "$root/$part" "$folder/$(dirname "$part")"
    done
    [ "$(cd "$folder" && pwd)/bin" = "$(dirname "$tinytrain")" ] || cp -r "$(dirname "$tinytrain")" "$folder"
    # Machines for computing alone often lack it.
    loader=$(loader_here)
    [ -z "$loader" ] || cp -L "$loader" "$folder/bin/libvulkan.so.1"
    rm -rf "$folder/scripts/peers/__pycache__"
    echo "packed: $folder ($(du -sm "$folder" | cut -f1) MiB); run $folder/scripts/gpu-day there"
}
