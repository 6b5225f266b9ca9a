//! One function per kernel, with the kernel's name, written as its formula.

mod activation;
mod augment;
mod dropout;
mod loss;
mod optimizer;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};

pub use activation::{activation, activation_slope};
pub use augment::augment;
pub use dropout::dropout_mask;
pub use loss::{batch_loss, loss_gradient, row_losses};
pub use optimizer::{decays_biases, optimize};

/// C = A B: C[i, j] = sum over k of A[i, k] B[k, j].
pub fn matmul(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    let (m, inner) = a.dim();
    let (inner_b, n) = b.dim();
    assert_eq!(inner, inner_b, "inner dimensions of a product agree");
    // Row by row of B, which is contiguous in memory; each element is still summed in the order of k, starting from -0.
    let b = b.as_standard_layout();
    let mut c = Array2::from_elem((m, n), -0.0);
    for (mut row, a) in c.rows_mut().into_iter().zip(a.rows()) {
        a.iter().zip(b.rows()).for_each(|(a, b)| row.scaled_add(*a, &b));
    }
    c
}

/// a . b: the sum of `a[i] b[i]`.
pub fn dot(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The sum of each block of `block` elements; the last may be shorter.
pub fn block_sums(a: ArrayView1<f64>, block: usize) -> Array1<f64> {
    a.axis_chunks_iter(Axis(0), block).map(|block| block.sum()).collect()
}

/// The largest element; NaN if one is NaN.
pub fn maximum(a: ArrayView1<f64>) -> f64 {
    a.fold(f64::NEG_INFINITY, |most, value| if most.is_nan() || *value <= most { most } else { *value })
}

/// The position of the first NaN, or else of the first largest element.
pub fn argmax(a: ArrayView1<f64>) -> usize {
    let better = |value: f64, best: f64| !best.is_nan() && (value.is_nan() || value > best);
    (0..a.len()).fold(0, |best, i| if better(a[i], a[best]) { i } else { best })
}

/// Y = X W + b, the bias added to every row.
pub fn forward(x: ArrayView2<f64>, w: ArrayView2<f64>, b: ArrayView1<f64>) -> Array2<f64> {
    matmul(x, w) + b
}

/// Y = max(0, Z).
pub fn relu(z: ArrayView2<f64>) -> Array2<f64> {
    z.mapv(|value| if value > 0.0 { value } else { 0.0 })
}

/// dZ = dY where Y > 0, else 0. Y is relu(Z), which is positive exactly where Z is.
pub fn relu_backward(y: ArrayView2<f64>, dy: ArrayView2<f64>) -> Array2<f64> {
    Array2::from_shape_fn(y.dim(), |at| if y[at] > 0.0 { dy[at] } else { 0.0 })
}

/// P[i, j] = exp(Z[i, j]) / sum over c of exp(Z[i, c]), the row maximum subtracted first.
pub fn softmax(z: ArrayView2<f64>) -> Array2<f64> {
    let mut p = z.to_owned();
    for mut row in p.rows_mut() {
        let maximum = row.fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        row.mapv_inplace(|value| (value - maximum).exp());
        let sum = row.sum();
        row.mapv_inplace(|value| value / sum);
    }
    p
}

/// log softmax by rows: Z[i, j] - log sum over c of exp(Z[i, c]).
pub fn log_softmax(z: ArrayView2<f64>) -> Array2<f64> {
    let sums = log_sum_exp(z);
    Array2::from_shape_fn(z.dim(), |(i, j)| z[[i, j]] - sums[i])
}

/// log sum over c of exp(Z[i, c]), of each row, the row maximum subtracted first.
pub fn log_sum_exp(z: ArrayView2<f64>) -> Array1<f64> {
    z.rows()
        .into_iter()
        .map(|row| {
            let maximum = row.fold(f64::NEG_INFINITY, |a, b| a.max(*b));
            maximum + row.iter().map(|value| (value - maximum).exp()).sum::<f64>().ln()
        })
        .collect()
}

/// Loss of each row: `log sum over c of exp(Z[i, c]) - Z[i, target[i]]`.
pub fn cross_entropy(z: ArrayView2<f64>, targets: &[usize]) -> Array1<f64> {
    let sums = log_sum_exp(z);
    targets.iter().enumerate().map(|(i, target)| sums[i] - z[[i, *target]]).collect()
}

/// The first class of each row's largest logit.
pub fn predictions(z: ArrayView2<f64>) -> Vec<usize> {
    z.rows().into_iter().map(argmax).collect()
}

/// dX = dY W'.
pub fn input_gradient(dy: ArrayView2<f64>, w: ArrayView2<f64>) -> Array2<f64> {
    matmul(dy, w.t())
}

/// dW = X' dY and db = sum of the rows of dY.
pub fn weight_gradient(x: ArrayView2<f64>, dy: ArrayView2<f64>) -> (Array2<f64>, Array1<f64>) {
    (matmul(x.t(), dy), dy.sum_axis(Axis(0)))
}

/// Rows `order` of the features, times `scale`.
pub fn gather(features: ArrayView2<f64>, order: &[usize], scale: f64) -> Array2<f64> {
    Array2::from_shape_fn((order.len(), features.ncols()), |(r, c)| features[[order[r], c]] * scale)
}

/// Y[r, i] = operation(X[r, i - width + 1 ..= i]), restricted to elements within the row.
pub fn pool(x: ArrayView2<f64>, width: usize, operation: impl Fn(ArrayView1<f64>) -> f64) -> Array2<f64> {
    Array2::from_shape_fn(x.dim(), |(r, i)| operation(x.slice(s![r, (i + 1).saturating_sub(width)..=i])))
}

/// C[r, c] = sum over i, j of A[r + i - origin 0, c + j - origin 1] B[i, j], over elements within A; the shape of C is
/// `outputs`. In one dimension, B has one row.
pub fn convolve(
    a: ArrayView2<f64>,
    b: ArrayView2<f64>,
    origin: [usize; 2],
    outputs: [usize; 2],
) -> Array2<f64> {
    let element = |r: usize, c: usize| a.get((r.checked_sub(origin[0])?, c.checked_sub(origin[1])?));
    Array2::from_shape_fn(outputs, |(r, c)| {
        b.indexed_iter().filter_map(|((i, j), tap)| Some(element(r + i, c + j)? * tap)).sum()
    })
}

/// `Y[i]` = sum of `X[j]` over j < i, or over j <= i if `inclusive`; `add` is the addition.
pub fn scan<T: Copy + Default>(x: &[T], inclusive: bool, add: impl Fn(T, T) -> T) -> Vec<T> {
    let mut sum = T::default();
    x.iter()
        .map(|value| {
            let before = sum;
            sum = add(sum, *value);
            if inclusive { sum } else { before }
        })
        .collect()
}

/// `Y[i] + offsets[i / block]`, in wrapping u32 arithmetic.
pub fn scan_add(y: &[u32], offsets: &[u32], block: usize) -> Vec<u32> {
    y.iter().enumerate().map(|(i, value)| value.wrapping_add(offsets[i / block])).collect()
}
