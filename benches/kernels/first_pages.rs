//! The first two pages of docs/KERNELS.md: a device against the processor, over n.

use std::hint::black_box;

use ndarray::Array2;
use tinytrain::kernels::{Cost, Grid, Kernel, Matmul, NaiveMatmul, Tensor, Zip, ZipKernel, zip};

use crate::bench::Bench;
use crate::families::{matrix, side};

pub fn vector_add(bench: &mut Bench) {
    for power in [10, 14, 18, 22] {
        let length = 1usize << power;
        let shape = length.to_string();
        let a: Vec<f32> = (0..length).map(|i| i as f32).collect();
        let b = a.clone();
        let kernel = ZipKernel::new::<f32>(1, length, Zip::Add, Grid::Line);
        let cost: Cost = kernel.cost(&bench.compute.tuning);
        let mut c = vec![0.0f32; length];
        bench.host("vector_add", "processor", &shape, cost, || {
            for (c, (a, b)) in c.iter_mut().zip(a.iter().zip(&b)) {
                *c = a + b;
            }
            black_box(&mut c);
        });
        let [on_a, on_b, on_c] = [&a, &b, &a].map(|x| bench.compute.vector(x).expect("it fits"));
        let buffers = [on_a.buffer(), on_b.buffer(), on_c.buffer()];
        bench.kernel("vector_add", "device, data there", &kernel, &buffers, 0);
        bench.function("vector_add", "device, there and back", &shape, |compute| {
            let [a, b] = [&a, &b].map(|x| compute.vector(x).expect("it fits"));
            black_box(zip(compute, Zip::Add, &a, &b).and_then(|c| c.read(compute)).expect("it runs"));
        });
    }
}

pub fn naive_matmul(bench: &mut Bench) {
    for n in [16, 64, side(bench) / 8, side(bench) / 4] {
        let shape = format!("{n} x {n} x {n}");
        let values = Array2::from_shape_fn((n, n), |(i, j)| ((i + j) % 7) as f32);
        let naive = NaiveMatmul { m: n, n, k: n, grid: Grid::Plane };
        let cost = naive.cost(&bench.compute.tuning);
        let mut c = Array2::zeros((n, n));
        bench.host("naive_matmul", "processor, three loops", &shape, cost, || {
            for i in 0..n {
                for j in 0..n {
                    c[[i, j]] = (0..n).map(|k| values[[i, k]] * values[[k, j]]).sum::<f32>();
                }
            }
            black_box(&mut c);
        });
        bench.host("naive_matmul", "processor, ndarray", &shape, cost, || {
            black_box(values.dot(&values));
        });
        let [a, b, c] = [(); 3].map(|()| matrix(bench, n, n));
        let buffers = [a.buffer(), b.buffer(), c.buffer()];
        bench.kernel("naive_matmul", "device, naive", &naive, &buffers, 0);
        let (transpose_a, transpose_b) = (false, false);
        let kernel =
            Matmul { m: n, n, k: n, matrices: 1, transpose_a, transpose_b, bias: false, relu: false };
        let buffers = [a.buffer(), b.buffer(), a.buffer(), c.buffer()];
        bench.kernel("naive_matmul", "device, matmul", &kernel, &buffers, 0);
    }
}
