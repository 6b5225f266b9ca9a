//! Compares every kernel with the f64 reference, on every adapter of the machine and under every shipped
//! tuning. One test binary shares the devices and links wgpu once.

mod activate;
mod activate_backward;
mod augment;
mod check;
mod column;
mod convolve;
mod cost;
mod counting;
mod cross_entropy;
mod dot;
mod elementwise;
mod embed;
mod embed_gradient;
mod extents;
mod forward;
mod gather;
mod input_gradient;
mod lab;
mod loss_gradient;
mod matmul;
mod naive_matmul;
mod nonlinear;
mod optimized;
mod pack;
mod pool;
mod puzzles;
mod race_log;
mod races;
mod reduce;
mod rewriting;
mod row;
mod scale_gradient;
mod scan;
mod scan_add;
mod softmax;
mod sum_squares;
mod update;
#[path = "../support/variants.rs"]
mod variants;
mod weight_gradient;
mod zip;
