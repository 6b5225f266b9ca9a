# The parts of the day, in order of what they are worth, each within its own seconds and those that are left.

# Workloads of docs/BENCHMARKS.md; W3 also in batches of 64.
readonly WORKLOADS='W1 W2 W3 W3-64'

sizes() {
    case $1 in
        W1) echo 784-300-100-10 ;;
        W2) echo 784-2500-2000-1500-1000-500-10 ;;
        *) echo 784-32-10 ;;
    esac
}

batch() {
    case $1 in
        W2) echo 256 ;;
        W3) echo 16 ;;
        *) echo 64 ;;
    esac
}

epochs() {
    case $1 in
        W1) echo 10 ;;
        *) echo 5 ;;
    esac
}

# The options of a workload.
network() {
    local hidden=$(sizes "$1")
    hidden=${hidden#784-}
    echo --data "$data" --device "$device" --batch-size "$(batch "$1")" --hidden "$(tr - , <<<"${hidden%-10}")"
}

# As the program names them, so that a new one is measured too.
schedules() {
    local said=$("$tinytrain" train --schedule '?' 2>&1)
    sed -n 's/.*\[possible values: \(.*\)\].*/\1/p' <<<"$said" | tr -d ,
}

now() {
    echo "$EPOCHREALTIME"
}

# Seconds since a time.
since() {
    awk -v now="$(now)" -v then="$1" 'BEGIN { printf "%.1f", now - then }'
}

# Whether --only asks for a part of this name.
wanted() {
    local word
    [ -n "$only" ] || return 0
    for word in $only; do
        [[ $1 != "$word" && $1 != "$word"-* ]] || return 0
    done
    return 1
}

# The last line of a file that is not empty, fit for a cell of a table.
last_line() {
    { grep -v '^[[:space:]]*$' "$1" || true; } | tail -n 1 | cut -c 1-200 | tr '|\t' '  '
}

# part NAME SECONDS COMMAND...: runs it; standard output goes to NAME.out, standard error to NAME.log, and how it ended to
# parts.tsv. Never fails.
part() {
    local name=$1 most=$2 left start status=0 outcome=ok
    shift 2
    wanted "$name" || return 0
    if [ -n "$list" ]; then
        echo "$name: $*"
        return
    fi
    left=$(awk -v most="$seconds" -v used="$(since "$begun")" 'BEGIN { printf "%d", most - used }')
    if [ "$left" -lt 3 ]; then
        printf '%s\t0\tleft out: no time left\n' "$name" >>"$out/parts.tsv"
        return
    fi
    [ "$left" -gt "$most" ] || most=$left
    start=$(now)
    timeout --kill-after=5 "$most" "$@" >"$out/$name.out" 2>"$out/$name.log" || status=$?
    case $status in
        0) ;;
        124 | 137 | 143) outcome="ended after its $most s" ;;
        # What cannot be had is refused with this code.
        2) outcome="not possible: $(last_line "$out/$name.log")" ;;
        *) outcome="failed ($status): $(last_line "$out/$name.log")" ;;
    esac
    printf '%s\t%s\t%s\n' "$name" "$(since "$start")" "$outcome" >>"$out/parts.tsv"
    echo "$name: $outcome, $(since "$start") s" >&2
}

# What the machine is.
machine() {
    {
        date -u +%Y-%m-%dT%H:%M:%SZ
        uname -srm
        grep -m 1 'model name' /proc/cpuinfo
        nproc
        cat "$(dirname "$tinytrain")/revision"
        nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,power.limit,memory.total --format=csv
        ls /usr/share/vulkan/icd.d /etc/vulkan/icd.d
        ls -d "${NVIDIA_PLACES[@]/%//libGLX_nvidia.so.0}" "${NVIDIA_PLACES[@]/%//libEGL_nvidia.so.0}"
        timeout 20 "$tinytrain" devices
    } >"$out/machine.txt" 2>&1 || true
}

# The first rows of MNIST as a data set of its own.
first_rows() {
    local count=$1 place=$2 name header row
    mkdir -p "$place"
    for name in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
        case $name in *images*) header=16 row=784 ;; *) header=8 row=1 ;; esac
        { gunzip -c "$root/data/mnist/$name-ubyte.gz" || true; } 2>/dev/null | head -c $((header + row * count)) | {
            head -c 4
            head -c 4 >/dev/null
            printf "$(printf '\\x%02x' $((count >> 24)) $((count >> 16 & 255)) $((count >> 8 & 255)) $((count & 255)))"
            cat
        } | gzip -1 >"$place/$name-ubyte.gz"
    done
}

# Trains a little, to see whether there is such a device and whether it is one in software. Sets device_name (with the
# backend), driver, data and rows.
open_device() {
    local small=640 adapter
    first_rows "$small" "$work/first"
    data=$work/first
    : >"$out/parts.tsv"
    only='' part first 90 "$tinytrain" train $(network W3) --epochs 1 --format json --out "$work/model.safetensors"
    grep -q '"event":"summary"' "$out/first.out" || fail "nothing can be trained there: $(tail -n 1 "$out/first.log")"
    device_name=$(sed -n 's/.*"device":"\([^"]*\)".*/\1/p' "$out/first.out" | head -n 1)
    adapter=$("$tinytrain" devices --format json | tr '{' '\n' | grep -F "\"name\":\"${device_name% (*}\"" |
        grep -F "\"backend\":\"$(sed 's/.*(\(.*\))$/\1/' <<<"$device_name")\"" | head -n 1) || true
    driver=$(sed -n 's/.*"driver":"\([^"]*\)".*/\1/p' <<<"$adapter")
    [[ $adapter != *'"type":"software"'* ]] || rows=${rows:-$small}
    data=$root/data/mnist
    rows=${rows:-60000}
    if [ "$rows" -lt 60000 ]; then
        # There are 10,000 to test.
        [ "$rows" -le 10000 ] || fail "--rows: at most 10000, or all"
        data=$work/rows
        first_rows "$rows" "$data"
    fi
}

# Which of PyTorch and JAX are there, without installing anything.
find_peers() {
    peers=''
    [[ -z $only || $only == *peers* ]] || return 0
    [ -n "$python" ] || python=$root/target/peers/bin/python
    [ -x "$(command -v "$python")" ] || python=python3
    peers=$(timeout 60 "$python" "$root/scripts/peers/there.py" 2>"$out/peers.log") || true
    echo "peers: ${peers:-none}" >&2
}

all_parts() {
    local workload schedule peer
    part check 120 "$tinytrain" check --device "$device" --format json
    for workload in $WORKLOADS; do
        for schedule in $(schedules); do
            part "steps-$workload-$schedule" 15 "$tinytrain" train $(network "$workload") --epochs "$(epochs "$workload")" \
                --schedule "$schedule" --verbose --format json --out "$work/model.safetensors"
        done
    done
    for workload in $WORKLOADS; do
        part "steps-$workload-default" 20 "$tinytrain" train $(network "$workload") --epochs "$(epochs "$workload")" \
            --verbose --format json --out "$work/model.safetensors"
    done
    for workload in $WORKLOADS; do
        for peer in $peers; do
            part "peers-$workload-$peer" 30 env MNIST="$data" ROWS="$rows" XLA_PYTHON_CLIENT_PREALLOCATE=false "$python" \
                "$root/scripts/peers/${peer%%-*}_peer.py" "$workload" $(tr - ' ' <<<"${peer#"${peer%%-*}"}")
        done
    done
    for workload in W1 W2 W3; do
        part "profile-$workload" 30 "$tinytrain" profile $(network "$workload") --steps 200 --plots "$out/pictures-$workload" \
            --format json
    done
    for device_of_run in "$device" cpu; do
        part "runs-table-$device_of_run" 60 "$tinytrain" train --data "$root/data/tables/digits.csv" --target digit --preset table \
            --validation-fraction 0.2 --device "$device_of_run" --format json --out "$work/model.safetensors"
        part "runs-sweep-$device_of_run" 60 "$tinytrain" sweep --data "$data" --preset plain --hidden 32 --batch-size 64 \
            --epochs 3 --trials 64 --device "$device_of_run" --format json --out "$work/sweep-$device_of_run"
    done
    part kernels 90 env TINYTRAIN_DEVICE="$device" "$kernels" --bench --noplot --warm-up-time 0.05 --measurement-time 0.2 \
        --nresamples 1000
    part checked 120 "$tinytrain" check --device "$device" --bounds-checks --format json
}
