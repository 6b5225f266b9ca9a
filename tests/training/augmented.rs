//! Training on distorted images, on every engine.

use ndarray::{Array2, Axis};
use tinytrain::data::{Dataset, Features, Rows};
use tinytrain::engine::{BatchMetrics, Batches, CpuEngine, Drive, Engine, EngineOptions, Order, block};
use tinytrain::model::{Network, Parameters};
use tinytrain::reference::{ReferenceNetwork, ops};
use tinytrain::step::{Augment, Distortion, ImageSize};

use crate::support::{engines, noise, sparse_bytes};

const SIZE: ImageSize = ImageSize { height: 6, width: 7, channels: 1 };
const ROWS: usize = 200;
const CLASSES: usize = 5;
const BATCH: usize = 16;
const SEED: u64 = 9;

fn augment() -> Augment {
    "digits,cutout=2,flip".parse().unwrap()
}

fn options() -> EngineOptions {
    let distortion = Distortion::new(&augment(), SIZE, SEED).unwrap();
    EngineOptions { distortion: Some(distortion), ..EngineOptions::sgd(BATCH, 0.1) }
}

fn values(data: &Dataset) -> Array2<f64> {
    let values = match &data.features {
        Features::Bytes(values) => values.iter().map(|value| f64::from(*value) / 255.0).collect(),
        Features::Floats(values) => values.iter().map(|value| f64::from(*value)).collect(),
    };
    Array2::from_shape_vec((ROWS, SIZE.values()), values).unwrap()
}

/// Trains on these positions of an epoch; returns the sum of the losses.
fn train(engine: &mut dyn Engine, rows: Rows<'_>, order: &[u32], epoch: usize) -> f64 {
    let mut loss = 0.0;
    let mut sink = |batch: BatchMetrics| {
        loss += batch.loss;
        Ok(())
    };
    let batches = Batches { rows, order: Order::Given(order), positions: 0..order.len(), epoch };
    engine.drive(batches, &mut sink).unwrap();
    engine.finish(&mut sink).unwrap();
    loss
}

/// A first batch of each epoch, from the first parameters, with all rows known and with an unknown number of rows, which
/// pass through a window of a GPU.
#[test]
fn the_loss_of_a_batch_is_the_loss_of_its_distorted_images() {
    let network = Network::classifier(&[SIZE.values(), 20, CLASSES]).unwrap();
    let parameters = Parameters::he_normal(&network, 4);
    let reference = ReferenceNetwork::new(&network, &parameters);
    let order: Vec<u32> = (0..BATCH as u32).map(|position| (position * 77 + 5) % ROWS as u32).collect();
    let chosen: Vec<usize> = order.iter().map(|row| *row as usize).collect();
    let datasets = [sparse_bytes(ROWS, SIZE.values(), CLASSES, 11), noise(ROWS, SIZE.values(), CLASSES, 11)];
    for data in &datasets {
        let (images, labels) = (values(data), data.labels());
        let targets: Vec<usize> = chosen.iter().map(|row| labels[*row] as usize).collect();
        let plain = reference.loss(images.select(Axis(0), &chosen).view(), &targets) * BATCH as f64;
        for (name, make) in engines() {
            for total in [Some(ROWS), None] {
                let mut engine = make(&parameters, &network, &options());
                let mut losses = Vec::new();
                for epoch in [1, 2] {
                    let x = ops::augment(images.view(), &augment(), SIZE, SEED, epoch as u32, &order);
                    let want = reference.loss(x.view(), &targets) * BATCH as f64;
                    let rows = Rows { total, ..data.view() };
                    engine.restore(&parameters, &Default::default()).unwrap();
                    let got = train(&mut *engine, rows, &order, epoch);
                    // Bytes are rounded.
                    assert!((got - want).abs() < 2e-3 * want, "{name}, epoch {epoch}: {got}, not {want}");
                    assert!((want - plain).abs() > 1e-2 * plain, "{want} differs from {plain}");
                    losses.push(got);
                }
                assert!(losses[0] != losses[1], "{name}: {losses:?}");
            }
        }
    }
}

/// Three epochs in several calls, of which the first sees only some rows.
#[test]
fn distorted_training_is_the_same_on_any_number_of_threads() {
    let network = Network::classifier(&[SIZE.values(), 70, CLASSES]).unwrap();
    let parameters = Parameters::he_normal(&network, 4);
    for data in [sparse_bytes(ROWS, SIZE.values(), CLASSES, 11), noise(ROWS, SIZE.values(), CLASSES, 11)] {
        let part = Dataset { inputs: SIZE.values(), ..data.clone() }.sample(96, 1);
        let trained = |threads: usize, pieces: usize| {
            let mut engine = CpuEngine::with_threads(&parameters, &network, &options(), threads);
            train(&mut engine, part.view(), &(0..96).collect::<Vec<u32>>(), 1);
            engine.restore(&parameters, &Default::default()).unwrap();
            for epoch in 1..=3 {
                let order: Vec<u32> =
                    (0..192).map(|position| (position * 77 + epoch) % ROWS as u32).collect();
                order.chunks(192 / pieces).for_each(|order| {
                    train(&mut engine, data.view(), order, epoch as usize);
                });
            }
            block(engine.parameters()).unwrap()
        };
        let alone = trained(1, 1);
        for (threads, pieces) in [(1, 4), (2, 1), (3, 2)] {
            assert!(trained(threads, pieces) == alone, "{threads} threads, {pieces} pieces");
        }
    }
}
