//! Rows padded to whole vec4s, the form of matrices on a device.

/// Number of vec4s that hold `n` values: ceil(n / 4).
pub const fn blocks(n: usize) -> usize {
    n.div_ceil(4)
}

/// `values` [rows, columns] with rows padded to whole vec4s by zeros.
pub fn pad_rows<T: Copy + Default>(values: &[T], columns: usize) -> Vec<T> {
    let stride = 4 * blocks(columns);
    if stride == columns {
        return values.to_vec();
    }
    let mut padded = vec![T::default(); values.len().checked_div(columns).unwrap_or(0) * stride];
    for (to, from) in padded.chunks_exact_mut(stride.max(1)).zip(values.chunks_exact(columns.max(1))) {
        to[..columns].copy_from_slice(from);
    }
    padded
}

/// The inverse of [`pad_rows`].
pub fn unpad_rows<T: Copy>(padded: &[T], columns: usize) -> Vec<T> {
    padded.chunks_exact((4 * blocks(columns)).max(1)).flat_map(|row| &row[..columns]).copied().collect()
}
