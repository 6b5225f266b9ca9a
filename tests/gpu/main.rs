//! Every kernel against the f64 reference, on every adapter of the machine and under every shipped tuning. One test
//! binary, so that the devices are shared and wgpu is linked once.

mod activate;
mod activate_backward;
mod argmax;
mod candidates;
mod check;
mod column;
mod compact;
mod convolve;
mod cost;
mod counting;
mod cross_entropy;
mod cross_entropy_probabilities;
mod dot;
mod elementwise;
mod extents;
mod forward;
mod gather;
mod input_gradient;
mod lab;
mod log_sum_exp;
mod loss_gradient;
mod map;
mod matmul;
mod multiply_add;
mod naive_matmul;
mod nonlinear;
mod optimized;
mod order_keys;
mod pool;
mod puzzles;
mod race_log;
mod races;
mod radix_sort;
mod reduce;
mod rewriting;
mod row;
mod scan;
mod scan_add;
mod softmax;
mod sum_squares;
mod update;
#[path = "../support/variants.rs"]
mod variants;
mod weight_gradient;
mod zip;
