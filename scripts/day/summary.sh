# The tables, in Markdown, from what the parts have printed.

# The last value of a key in a file of JSON, one object a line.
value() {
    sed -n "s/.*\"$2\": *\"\{0,1\}\([^,\"}]*\).*/\1/p" "$1" 2>/dev/null | tail -n 1
}

# How a part ended; nothing if it was not asked for.
outcome() {
    awk -F '\t' -v name="$1" '$1 == name { print $3 }' "$out/parts.tsv"
}

# Arithmetic: calculate FORMAT EXPRESSION
calculate() {
    awk "BEGIN { printf \"$1\", $2 }"
}

# Seconds of an epoch of a training run, the median without the first, which compiles.
epoch_seconds() {
    sed -n 's/^{"event":"epoch".*"seconds":\([0-9.e+-]*\).*/\1/p' "$1" 2>/dev/null | awk 'NR == 1 { first = $1; next } { print }
        END { if (NR == 1) print first }' | sort -g | awk '{ value[NR] = $1 }
        END { if (NR) print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'
}

steps_of_epoch() {
    echo $(((rows + $(batch "$1") - 1) / $(batch "$1")))
}

# One line of our table: workload, schedule or `default`.
step_line() {
    local file=$out/steps-$1-$2 epoch took="" schedule first shown=$2
    [ -n "$(outcome "steps-$1-$2")" ] || return 0
    epoch=$(epoch_seconds "$file.out")
    schedule=$(value "$file.out" schedule)
    if [ "$2" = default ]; then
        shown="default: ${schedule:-?}"
    elif [ -n "$schedule" ] && [ "$schedule" != "$2" ]; then
        echo "| $1 | $2 | not possible: $(sed -n 's/.*schedule (\(.*\)):$/\1/p' "$file.log" | head -n 1) | | | |"
        return
    fi
    if [ -z "$epoch" ]; then
        echo "| $1 | $shown | $(outcome "steps-$1-$2") | | | |"
        return
    fi
    took=$(calculate %.1f "1e6 * $epoch / $(steps_of_epoch "$1")")
    echo "$1 $took" >>"$work/ours"
    # A run that was ended has not said it.
    first=$(value "$file.out" first_batch_seconds)
    echo "| $1 | $shown | $took | $(calculate %.4f "$epoch") |" \
        "$([ -z "$first" ] || calculate '%.2f s' "$first") |" \
        "$(calculate '%.2f %%' "100 * $(value "$file.out" test_accuracy)") |"
}

peer_line() {
    local file=$out/peers-$1-$2 epoch took best
    [ -n "$(outcome "peers-$1-$2")" ] || return 0
    epoch=$(value "$file.out" epoch_s)
    if [ -z "$epoch" ]; then
        echo "| $1 | $2 | $(outcome "peers-$1-$2") | | | |"
        return
    fi
    took=$(calculate %.1f "1e6 * $epoch / $(steps_of_epoch "$1")")
    best=$(awk -v workload="$1" '$1 == workload { print $2 }' "$work/ours" | sort -g | head -n 1)
    echo "| $1 | $(sed -n 's/.*"peer": "\([^"]*\)".*/\1/p' "$file.out") | $took |" \
        "$([ -z "$best" ] || calculate %.1f "$took / $best") | $(calculate '%.2f s' "$(value "$file.out" first_batch_s)") |" \
        "$(calculate '%.2f %%' "100 * $(value "$file.out" quality)") |"
}

# A check: how many comparisons, and those that failed.
check_line() {
    local file=$out/$1.out
    [ -n "$(outcome "$1")" ] || return 0
    echo "- $2: $(grep -c '"passed":true' "$file") comparisons passed, $(grep -c '"passed":false' "$file") failed" \
        "($(outcome "$1"))"
    sed -n '/"passed":false/s/^/    /p' "$file"
}

profile_line() {
    local file=$out/profile-$1.out steps wall key cells=""
    [ -n "$(outcome "profile-$1")" ] || return 0
    steps=$(value "$file" steps)
    if [ -z "$steps" ]; then
        echo "| $1 | $(outcome "profile-$1") | | | | | | |"
        return
    fi
    for key in wall_us compute_us gaps_us recording_us loading_us waiting_us; do
        cells+=" $(calculate %.1f "$(value "$file" "$key") / $steps") |"
    done
    echo "| $1 | $(value "$file" schedule) |$cells"
}

summary() {
    local workload schedule peer
    : >"$work/ours"
    echo "# A day on $device_name"
    echo
    echo "\`scripts/gpu-day\`, $(date -u +%Y-%m-%d), revision" \
        "$(cat "$(dirname "$tinytrain")/revision" 2>/dev/null || echo unknown): $device_name, driver ${driver:-unknown};" \
        "$(nproc) cores of $(sed -n 's/^model name.*: //p' /proc/cpuinfo 2>/dev/null | head -n 1). MNIST, $rows rows." \
        "The median of all epochs but the first."
    echo
    check_line check 'every kernel against f64'
    check_line checked 'the same with `--bounds-checks`'
    echo
    echo '| network | schedule | us per step | seconds per epoch | first batch after | test accuracy |'
    echo '|---|---|--:|--:|--:|--:|'
    for workload in $WORKLOADS; do
        for schedule in $(schedules) default; do step_line "$workload" "$schedule"; done
    done
    echo
    if [ -z "$peers" ]; then
        echo 'Neither PyTorch nor JAX was there, or asked for.'
    else
        echo '| network | peer | us per step | of our best | first batch after | test accuracy |'
        echo '|---|---|--:|--:|--:|--:|'
        for workload in $WORKLOADS; do
            for peer in $peers; do peer_line "$workload" "$peer"; done
        done
    fi
    echo
    echo 'Where the time of a step goes (`tinytrain profile`, 200 steps), microseconds:'
    echo
    echo '| network | schedule | wall | compute | gaps | recording | loading | waiting |'
    echo '|---|---|--:|--:|--:|--:|'
    for workload in W1 W2 W3; do profile_line "$workload"; done
    echo
    echo 'Whole runs, from start to exit: the preset for tables on digits, and a sweep of 64 networks 784-32-10 in batches of 64:'
    echo
    echo '| run | seconds | how it ended |'
    echo '|---|--:|---|'
    awk -F '\t' '$1 ~ /^runs-/ { printf "| %s | %s | %s |\n", substr($1, 6), $2, $3 }' "$out/parts.tsv"
    echo
    echo 'Every kernel by itself:'
    echo
    grep -e '^ceilings' -e '^|' "$out/kernels.out" 2>/dev/null || echo "none: $(outcome kernels)"
    echo
    echo '| part | seconds | how it ended |'
    echo '|---|--:|---|'
    awk -F '\t' '{ printf "| %s | %s | %s |\n", $1, $2, $3 }' "$out/parts.tsv"
}
