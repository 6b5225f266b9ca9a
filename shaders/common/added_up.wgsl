// Sums, in order, of the partial sums in `sums` by threads that share an inner dimension: vec4s in workgroup memory.

// Returns the sum of `count` of the sums, `pitch` apart, from `start` on.
fn added_up(start: u32, pitch: u32, count: u32) -> vec4<f32> {
    let last = count - 1u;
    var sum = vec4<f32>();
    for (var i = 0u; i < (count + 3u) / 4u * 4u; i += 4u) {
        // Overlaps four loads.
        let second = sums[start + min(i + 1u, last) * pitch];
        let third = sums[start + min(i + 2u, last) * pitch];
        let fourth = sums[start + min(i + 3u, last) * pitch];
        sum += sums[start + i * pitch];
        sum += select(vec4<f32>(), second, i + 1u < count);
        sum += select(vec4<f32>(), third, i + 2u < count);
        sum += select(vec4<f32>(), fourth, i + 3u < count);
    }
    return sum;
}
