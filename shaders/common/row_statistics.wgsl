// Row statistics of the logits, LANES threads per row. The arguments of exp are z - max <= 0 and the sum is at least 1, so
// nothing overflows and the logarithm is at least 0. A row that contains NaN or +infinity gives NaN.
//#include logits
//#include rows

struct RowStatistics {
    maximum: f32,
    sum: f32,       // sum of exp(z - maximum)
}

// Dead rows (live = false) take part in the barriers and read nothing.
fn row_statistics(row: u32, live: bool, thread: vec3<u32>) -> RowStatistics {
    let start = logits_start(1u, row);
    var largest = nothing(MAXIMUM);
    if live {
        for (var c = thread.x; c < params.classes; c += LANES) {
            largest = maximum(largest, logits[start + c]);
        }
    }
    let row_maximum = reduce_row(MAXIMUM, thread, largest);
    var partial = 0.0;
    if live {
        for (var c = thread.x; c < params.classes; c += LANES) {
            partial += exp(logits[start + c] - row_maximum);
        }
    }
    return RowStatistics(row_maximum, reduce_row(SUM, thread, partial));
}
