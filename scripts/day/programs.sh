# The programs of the day: built, or those that were packed. Sets tinytrain, kernels and model.

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
    tinytrain=$place/tinytrain kernels=$place/kernels model=$place/model.tsv
}

# Builds into a folder: tinytrain, kernels (the benchmark), model.tsv (workload, schedule, GPU, microseconds), revision.
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
    model_figures >"$place/model.tsv" || true
)

# What scripts/gpu-isa reckons, where it can be had: where Mesa's RADV is.
model_figures() {
    local workload figures
    ls /usr/share/vulkan/icd.d/radeon_icd.* >/dev/null 2>&1 || return
    for workload in $WORKLOADS; do
        figures=$(scripts/gpu-isa all --network "$(sizes "$workload")" --batch "$(batch "$workload")" --format json) || return
        awk -v workload="$workload" '
            /^    "schedule"/ { gsub(/[",]/, ""); schedule = $2 }
            /^    "hardware"/ { getline first; getline second; gpu[1] = name(first); gpu[2] = name(second) }
            /^    "microseconds": \[/ { getline first; getline second; show(1, first); show(2, second) }
            function name(line) { gsub(/^ *"|",?$/, "", line); return line }
            function show(at, line) {
                if (!seen[schedule, gpu[at]]++) printf "%s\t%s\t%s\t%.1f\n", workload, schedule, gpu[at], line
            }' <<<"$figures"
    done
}

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
