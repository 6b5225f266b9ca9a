//! Every kernel against the f64 reference, on every adapter of the machine and under every shipped tuning. One test
//! binary, so that the devices are shared and wgpu is linked once.

mod argmax;
mod check;
mod compact;
mod convolve;
mod cost;
mod counting;
mod cross_entropy;
mod cross_entropy_probabilities;
mod dot;
mod elementwise;
mod forward;
mod gather;
mod input_gradient;
mod lab;
mod log_sum_exp;
mod map;
mod matmul;
mod multiply_add;
mod naive_matmul;
mod order_keys;
mod pool;
mod puzzles;
mod radix_sort;
mod reduce;
mod relu;
mod relu_backward;
mod scan;
mod scan_add;
mod softmax;
mod softmax_cross_entropy;
mod softmax_cross_entropy_backward;
mod update;
mod weight_gradient;
mod zip;
