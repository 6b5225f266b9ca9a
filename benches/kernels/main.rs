//! Every kernel family, with bytes and FLOP per second, and their share of what the adapter can do at most.
//!
//! `cargo bench kernels` takes the best adapter; TINYTRAIN_DEVICE chooses another, as --device does.

mod bench;
mod families;
mod first_pages;

use bench::Bench;

fn main() {
    let mut bench = Bench::new();
    families::elementwise(&mut bench);
    families::reductions(&mut bench);
    families::scans(&mut bench);
    families::windows(&mut bench);
    families::products(&mut bench);
    families::rows(&mut bench);
    first_pages::vector_add(&mut bench);
    first_pages::naive_matmul(&mut bench);
    bench.finish();
}
