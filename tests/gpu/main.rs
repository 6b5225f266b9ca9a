//! Every kernel against the f64 reference, on every adapter of the machine and under every shipped tuning. One test
//! binary, so that the devices are shared and wgpu is linked once.

mod compact;
mod cross_entropy;
mod elementwise;
mod forward;
mod gather;
mod input_gradient;
mod lab;
mod matmul;
mod order_keys;
mod radix_sort;
mod relu;
mod relu_backward;
mod scan;
mod scan_add;
mod softmax;
mod softmax_cross_entropy;
mod softmax_cross_entropy_backward;
mod update;
mod weight_gradient;
