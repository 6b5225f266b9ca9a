// radix_sort: one pass of the stable sort: keys with their payload go where their digit, four bits of the key, puts them
// keys, payload [length]; counts and offsets [16 digits, groups], all u32; a group is 8 TEAM keys
// SCATTER false: output counts[digit, group] = keys of the group with that digit; payload and offsets are not touched.
// SCATTER true, offsets the exclusive scan of all counts: key and payload go to offsets[digit, group] + rank in the
// group. A thread owns 8 neighbouring keys and a counter for each digit; no atomics: digit by digit, thread by thread,
// the scan of the counters is the rank. Threads without keys keep the barriers and their counters at 0.
// Offsets of other counts than these lead a key nowhere if they lead it out of the output.
//#include item_u32
//#include team
//#include scan_team
struct Params {
    length: u32,
    groups: u32,
    shift: u32, // where the digit begins
    unused: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> payload: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> output: array<u32>; // counts, or else keys
@group(0) @binding(5) var<storage, read_write> payload_output: array<u32>;

override SCATTER: bool = false;

const DIGITS = 16u;
const PART = DIGITS / 2u; // counters of one value of the workgroup scan

var<workgroup> counters: array<u32, DIGITS * TEAM + TEAM / 2u>; // [DIGITS, TEAM], by slots
var<workgroup> starts: array<u32, DIGITS>;

fn digit_of(key: u32) -> u32 {
    return (key >> params.shift) % DIGITS;
}

// The sum of the counters that are value `index` of the workgroup scan.
fn part_sum(index: u32) -> u32 {
    var sum = 0u;
    for (var i = 0u; i < PART; i += 1u) {
        sum += counters[slot(index * PART + i)];
    }
    return sum;
}

// Replaces these counters by the sums of all counters before them.
fn spread(index: u32, before: u32) {
    var sum = before;
    for (var i = 0u; i < PART; i += 1u) {
        let at = slot(index * PART + i);
        let count = counters[at];
        counters[at] = sum;
        sum += count;
    }
}

@compute @workgroup_size(TEAM)
fn radix_sort(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = team(workgroup, groups);
    let block = 2u * (group * TEAM + thread);
    let first = 4u * block;
    let live = select(0u, min(8u, params.length - first), first < params.length);
    for (var digit = 0u; digit < DIGITS; digit += 1u) {
        counters[slot(digit * TEAM + thread)] = 0u;
    }
    var own = array<vec4<u32>, 2>();
    var ranks = array<u32, 8>();
    for (var i = 0u; i < live; i += 1u) {
        if i % 4u == 0u {
            own[i / 4u] = keys[block + i / 4u];
        }
        let at = slot(digit_of(own[i / 4u][i % 4u]) * TEAM + thread);
        let count = counters[at];
        ranks[i] = count;
        counters[at] = count + 1u;
    }
    workgroupBarrier();
    let scanned = scan_team(thread, part_sum(thread), part_sum(thread + TEAM));
    spread(thread, scanned.first);
    spread(thread + TEAM, scanned.second);
    workgroupBarrier();
    if group < params.groups {
        for (var digit = thread; digit < DIGITS; digit += TEAM) {
            let start = counters[slot(digit * TEAM)];
            let at = digit * params.groups + group;
            if SCATTER {
                starts[digit] = offsets[at] - start;
            } else {
                var end = min(8u * TEAM, params.length - 8u * TEAM * group);
                if digit + 1u < DIGITS {
                    end = counters[slot((digit + 1u) * TEAM)];
                }
                output[at] = end - start;
            }
        }
    }
    workgroupBarrier();
    if SCATTER {
        var values = vec4<u32>();
        for (var i = 0u; i < live; i += 1u) {
            if i % 4u == 0u {
                values = payload[block + i / 4u];
            }
            let key = own[i / 4u][i % 4u];
            let digit = digit_of(key);
            let to = starts[digit] + counters[slot(digit * TEAM + thread)] + ranks[i];
            if to < params.length {
                output[to] = key;
                payload_output[to] = values[i % 4u];
            }
        }
    }
}
