//! Every tile shape that `tinytrain tune` may take, in the kernels of the two-dispatch step; those of the other schedules
//! are in `tests/gpu/candidates.rs`.

use tinytrain::gpu::{Context, adapters};
use tinytrain::kernels::{Product, Tuning};
use tinytrain::model::{Parameters, Spec};
use tinytrain::trainer::{Config, Engine, GpuEngine, ScheduleKind};

use crate::bounds::assert_within;
use crate::steps::reference_steps;
use crate::support::sparse_bytes;

/// Twenty steps, the last of them shorter, have the reference's weights. Row and column have nothing to do with each
/// other, so that the lists are walked side by side.
#[test]
fn two_dispatches_agree_with_the_reference_under_every_candidate() {
    let order: Vec<u32> = (0..19 * 33 + 5u32).map(|i| (i * 77 + 5) % 200).collect();
    let config = Config { batch_size: 33, schedule: Some(ScheduleKind::TwoDispatch), ..Config::default() };
    for sizes in [vec![37, 70, 11, 5], vec![150, 35, 5]] {
        let (spec, data) = (Spec::new(sizes.clone()).unwrap(), sparse_bytes(200, sizes[0], 5, 11));
        let parameters = Parameters::he_normal(&spec, 4);
        let mut network = parameters.to_reference();
        let (bounds, _) = reference_steps(&mut network, &data, &order, &config);
        for adapter in adapters(None) {
            let open = || Context::open(&adapter).unwrap();
            let context = open();
            let fitting = |list: &[Product]| -> Vec<Product> {
                list.iter().filter(|product| product.fits(&context)).copied().collect()
            };
            let (columns, rows) = (fitting(&Product::CANDIDATES), fitting(&Product::ROW_CANDIDATES));
            let count = columns.len().max(rows.len()).max(Tuning::OWNERS.len());
            for (((row, column), owners), _) in rows
                .iter()
                .cycle()
                .zip(columns.iter().cycle())
                .zip(Tuning::OWNERS.iter().cycle())
                .zip(0..count)
            {
                let tuning = Tuning { row: *row, column: *column, owners: *owners, ..Tuning::of(&context) };
                let mut engine =
                    GpuEngine::with_tuning(open(), tuning, &parameters, &spec, &config, 33).unwrap();
                engine.train(&data.view(), &order, &mut |_| Ok(())).unwrap();
                engine.finish(&mut |_| Ok(())).unwrap();
                let what = format!("{sizes:?} on {} ({}), {tuning}", adapter.name, adapter.backend);
                assert_within(&what, &engine.parameters().unwrap(), &network, &bounds);
            }
        }
    }
}
