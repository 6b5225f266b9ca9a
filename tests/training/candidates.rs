//! Every tile shape that `tinytrain tune` may take, in the kernels of the two-dispatch step; those of the other schedules
//! are in `tests/gpu/candidates.rs`.

use tinytrain::engine::{Drive, Engine, GpuEngine};
use tinytrain::gpu::{Context, adapters};
use tinytrain::kernels::{Compute, MatmulTile, Tuning};
use tinytrain::model::{Network, Parameters};
use tinytrain::reference::ReferenceNetwork;
use tinytrain::schedule::ScheduleKind;
use tinytrain::train::Config;

use crate::bounds::assert_within;
use crate::steps::reference_steps;
use crate::support::sparse_bytes;

/// Twenty steps, the last of them shorter, have the reference's weights. Row and column have nothing to do with each
/// other, so the lists are walked side by side. On one adapter, as compiling takes long: what another driver makes of a
/// shape `tune` itself compares.
#[test]
fn two_dispatches_agree_with_the_reference_under_every_candidate() {
    let order: Vec<u32> = (0..19 * 33 + 5u32).map(|i| (i * 77 + 5) % 200).collect();
    let config = Config { batch_size: 33, schedule: Some(ScheduleKind::TwoDispatch), ..Config::default() };
    let (network, data) = (Network::classifier(&[37, 70, 11, 5]).unwrap(), sparse_bytes(200, 37, 5, 11));
    let parameters = Parameters::he_normal(&network, 4);
    let mut reference = ReferenceNetwork::new(&network, &parameters);
    let (bounds, _) = reference_steps(&mut reference, &data, &order, &config);
    let adapter = &adapters(None)[0];
    let context = Context::open(adapter).unwrap();
    let fitting = |list: &[MatmulTile]| -> Vec<MatmulTile> {
        list.iter().filter(|product| product.fits(&context)).copied().collect()
    };
    let columns = fitting(&MatmulTile::CANDIDATES);
    // With 8 threads every layer is made in chunks and comes back in pieces.
    let rows = [&Tuning::ROW_THREADS[..], &[8]].concat();
    for index in 0..columns.len().max(rows.len()).max(Tuning::OWNERS.len()) {
        let tuning = Tuning {
            row: rows[index % rows.len()],
            column: columns[index % columns.len()],
            owners: Tuning::OWNERS[index % Tuning::OWNERS.len()],
            ..Tuning::for_device(&context)
        };
        let context = Context::open(adapter).unwrap();
        let mut engine = GpuEngine::with_tuning(
            Compute::new(context),
            tuning,
            &parameters,
            &network,
            &config.engine_options(33),
        )
        .unwrap();
        engine.train(&data.view(), &order, &mut |_| Ok(())).unwrap();
        engine.finish(&mut |_| Ok(())).unwrap();
        let what = format!("{} ({}), {tuning}", adapter.name, adapter.backend);
        assert_within(&what, &engine.parameters().unwrap(), &reference, &bounds);
    }
}
