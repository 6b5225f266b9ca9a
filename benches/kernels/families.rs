//! The families of kernels.

use ndarray::Array2;
use tinytrain::gpu::DeviceKind;
use tinytrain::kernels::{
    Activate, Axis, Convolve, CrossEntropy, Grid, LossGradient, LossTargets, Matmul, Matrix, Mode,
    NaiveMatmul, Nonlinearity, Pool, Reduction, Scan, Softmax, Tensor, Window, Zip, ZipKernel, block_sums,
    dot, reduce, reduce_axis, scan,
};
use tinytrain::step::Activation;

use crate::bench::Bench;

/// Rows, and columns, of the large matrices: 16 MiB on a GPU; software adapters would take minutes.
pub fn side(bench: &Bench) -> usize {
    if bench.compute.context.kind == DeviceKind::Software { 1024 } else { 2048 }
}

/// Elements of the long vectors.
fn length(bench: &Bench) -> usize {
    side(bench).pow(2)
}

pub fn elementwise(bench: &mut Bench) {
    let (rows, columns) = (side(bench), side(bench));
    let [a, b, c] = [(); 3].map(|()| matrix(bench, rows, columns));
    for grid in [Grid::Line, Grid::Plane] {
        let suffix = format!("{grid:?}").to_lowercase();
        let kernel = ZipKernel::new::<f32>(rows, columns, Zip::Add, grid);
        let buffers = [a.buffer(), b.buffer(), c.buffer()];
        bench.kernel("elementwise", &format!("zip add, {suffix}"), &kernel, &buffers, 0);
    }
    for activation in [Activation::Relu, Activation::Tanh, Activation::Gelu] {
        let kernel = Activate { rows, columns, nonlinearity: Nonlinearity { activation, dropout: None } };
        bench.kernel("elementwise", activation.name(), &kernel, &[a.buffer(), b.buffer()], rows);
    }
}

pub fn reductions(bench: &mut Bench) {
    let length = length(bench);
    let values: Vec<f32> = (0..length).map(|i| (i % 1000) as f32 * 0.001).collect();
    let x = bench.compute.vector(&values).expect("the vector fits");
    let shape = length.to_string();
    let works = "the kernels run";
    for reduction in [Reduction::Sum, Reduction::Maximum] {
        let name = format!("{reduction:?}").to_lowercase();
        bench.function("reductions", &name, &shape, |compute| {
            reduce(compute, reduction, &x).expect(works);
        });
    }
    bench.function("reductions", "dot", &shape, |compute| {
        dot(compute, &x, &x).expect(works);
    });
    bench.function("reductions", "sums of blocks of 8", &shape, |compute| {
        block_sums(compute, 8, &x).expect(works);
    });
    let m = matrix(bench, side(bench), side(bench));
    let square = format!("{0} x {0}", side(bench));
    for axis in [Axis::Rows, Axis::Columns] {
        let name = format!("{axis:?}").to_lowercase();
        bench.function("reductions", &format!("sums of {name}"), &square, |compute| {
            reduce_axis(compute, Reduction::Sum, axis, &m).expect(works);
        });
    }
}

pub fn scans(bench: &mut Bench) {
    let works = "the kernels run";
    let length = length(bench);
    let values: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let x = bench.compute.vector(&values).expect("the vector fits");
    let shape = length.to_string();
    for padded in [true, false] {
        let kernel = Scan { padded, ..Scan::new::<u32>(length, false, &bench.compute.tuning) };
        let blocks = length.div_ceil(kernel.block);
        let [y, sums] = [length, blocks].map(|n| bench.compute.vector(&vec![0u32; n]).expect("it fits"));
        let name = if padded { "padded against bank conflicts" } else { "not padded" };
        let buffers = [x.buffer(), y.buffer(), sums.buffer()];
        bench.kernel("scans", &format!("scan of blocks, {name}"), &kernel, &buffers, 0);
        bench.function("scans", &format!("scan, {name}"), &shape, |compute| {
            scan(compute, kernel, &x).expect(works);
        });
    }
}

pub fn windows(bench: &mut Bench) {
    let (rows, columns) = (side(bench), side(bench));
    let [x, y] = [(); 2].map(|()| matrix(bench, rows, columns));
    for (window, width) in [(Window::Sum, 3), (Window::Mean, 64), (Window::Maximum, 64), (Window::Sum, 1000)]
    {
        let name = format!("pool {}, width {width}", format!("{window:?}").to_lowercase());
        let kernel = Pool { rows, columns, window, width };
        bench.kernel("windows", &name, &kernel, &[x.buffer(), y.buffer()], 0);
    }
    // Long kernels take software adapters seconds.
    let longest = if bench.compute.context.kind == DeviceKind::Software { 31 } else { 255 };
    for taps in [3, 31, 255].into_iter().filter(|taps| *taps <= longest) {
        let weights = bench.compute.vector(&vec![0.5f32; taps]).expect("it fits");
        for axis in [Axis::Rows, Axis::Columns] {
            let abreast = Convolve::abreast(axis, taps, &bench.compute.tuning);
            let kernel = Convolve { axis, lines: rows, length: columns, taps, mode: Mode::Same, abreast };
            let name = format!("convolve {}, {taps} taps", format!("{axis:?}").to_lowercase());
            bench.kernel("windows", &name, &kernel, &[x.buffer(), weights.buffer(), y.buffer()], 0);
        }
    }
}

pub fn products(bench: &mut Bench) {
    // A square, and the first layer of the standard network.
    let square = side(bench) / 4;
    for [m, k, n] in [[square; 3], [64, 784, 300]] {
        let (a, b, c) = (matrix(bench, m, k), matrix(bench, k, n), matrix(bench, m, n));
        for grid in [Grid::Line, Grid::Plane] {
            let name = format!("naive_matmul, {}", format!("{grid:?}").to_lowercase());
            let buffers = [a.buffer(), b.buffer(), c.buffer()];
            bench.kernel("products", &name, &NaiveMatmul { m, n, k, grid }, &buffers, 0);
        }
        for (name, transpose_a, transpose_b) in
            [("A B", false, false), ("A' B", true, false), ("A B'", false, true)]
        {
            // The same elements, stored the other way round.
            let stored = |rows, columns, flip| {
                if flip { matrix(bench, columns, rows) } else { matrix(bench, rows, columns) }
            };
            let (a, b) = (stored(m, k, transpose_a), stored(k, n, transpose_b));
            let kernel = Matmul { m, n, k, matrices: 1, transpose_a, transpose_b, bias: false, relu: false };
            let buffers = [a.buffer(), b.buffer(), a.buffer(), c.buffer()];
            bench.kernel("products", &format!("matmul {name}"), &kernel, &buffers, 0);
        }
        let kernel =
            Matmul { m, n, k, matrices: 1, transpose_a: false, transpose_b: false, bias: true, relu: true };
        let buffers = [a.buffer(), b.buffer(), b.buffer(), c.buffer()];
        bench.kernel("products", "matmul + bias, relu", &kernel, &buffers, 0);
    }
    let (matrices, m, k, n) = (64, 64, 64, 64);
    let [a, b, c] = [(); 3].map(|()| matrix(bench, matrices * m, k));
    let kernel =
        Matmul { m, n, k, matrices, transpose_a: false, transpose_b: false, bias: false, relu: false };
    bench.kernel(
        "products",
        "matmul, batched",
        &kernel,
        &[a.buffer(), b.buffer(), a.buffer(), c.buffer()],
        0,
    );
}

pub fn rows(bench: &mut Bench) {
    for (rows, classes) in [(64, 10), (8192, 512)] {
        let [z, p] = [(); 2].map(|()| matrix(bench, rows, classes));
        let targets = bench.compute.vector(&vec![1u32; rows]).expect("it fits");
        let losses = bench.compute.vector(&vec![0f32; rows]).expect("it fits");
        let metrics = bench.compute.vector(&[0f32; 256]).expect("it fits");
        for log in [false, true] {
            let name = if log { "softmax, logarithm" } else { "softmax" };
            bench.kernel("rows", name, &Softmax { rows, classes, log }, &[z.buffer(), p.buffer()], rows);
        }
        let buffers = [z.buffer(), targets.buffer(), losses.buffer(), metrics.buffer()];
        bench.kernel("rows", "cross_entropy", &CrossEntropy { rows, classes }, &buffers, rows);
        let order = bench.compute.vector(&Vec::from_iter(0..rows as u32)).expect("it fits");
        let buffers = [z.buffer(), targets.buffer(), order.buffer(), p.buffer(), metrics.buffer()];
        let kernel =
            LossGradient { rows, outputs: classes, targets: LossTargets::CLASSES, samples: Some(rows) };
        bench.kernel("rows", "loss_gradient, cross-entropy", &kernel, &buffers, rows);
    }
}

/// Ordinary numbers.
pub fn matrix(bench: &Bench, rows: usize, columns: usize) -> Matrix {
    let values = Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17) % 1000) as f32 * 0.001);
    bench.compute.matrix(&values).expect("the matrix fits")
}
