//! Single steps, twenty steps, epochs.

use ndarray::Array2;
use tinytrain::Error;
use tinytrain::data::{BLOCK_ROWS, Dataset, Features, ReadOptions, Reader, Rows, locate, rows_at};
use tinytrain::engine::block;
use tinytrain::engine::{BatchMetrics, Batches, Device, Drive, Engine, EngineOptions, EngineState, Order};
use tinytrain::model::{Network, Parameters};
use tinytrain::reference::{ReferenceNetwork, bounds};
use tinytrain::schedule::ScheduleKind;
use tinytrain::train::{Config, Event, Summary, train};

use crate::bounds::{assert_within, inputs};
use crate::support::{Pictures, as_bytes, csv_reader, devices, engines, noise, sparse_bytes};

/// Returns the rows `order` of x, and their targets.
fn batch(x: &Array2<f64>, targets: &[usize], order: &[u32]) -> (Array2<f64>, Vec<usize>) {
    let rows: Vec<usize> = order.iter().map(|row| *row as usize).collect();
    (x.select(ndarray::Axis(0), &rows), rows.iter().map(|row| targets[*row]).collect())
}

/// Trains the reference on `order` in batches; also returns the sum over the steps of the bounds of their
/// updates, times two: an error of the weights grows by a small factor per step, which over 20 steps with a
/// learning rate of 0.1 stays below two.
pub fn reference_steps(
    reference: &mut ReferenceNetwork,
    data: &Dataset,
    order: &[u32],
    config: &Config,
) -> (ReferenceNetwork, f64) {
    let (x, targets) = inputs(data);
    let rate = f64::from(config.learning_rate);
    let eps = f64::from(f32::EPSILON);
    let mut total = ReferenceNetwork::relu(
        reference.weights.iter().map(|w| w * 0.0).collect(),
        reference.biases.iter().map(|b| b * 0.0).collect(),
    );
    let mut loss = 0.0;
    for order in order.chunks(config.batch_size) {
        let (x, targets) = batch(&x, &targets, order);
        let bounds = bounds::gradients(reference, &x, &targets);
        loss += reference.loss(x.view(), &targets) * targets.len() as f64;
        reference.step(x.view(), &targets, rate);
        for (sum, (bound, w)) in total.weights.iter_mut().zip(bounds.weights.iter().zip(&reference.weights)) {
            *sum += &((bound * rate + w.mapv(f64::abs) * eps) * 2.0);
        }
        for (sum, (bound, b)) in total.biases.iter_mut().zip(bounds.biases.iter().zip(&reference.biases)) {
            *sum += &((bound * rate + b.mapv(f64::abs) * eps) * 2.0);
        }
    }
    (total, loss)
}

/// One batch, twenty batches, and a shorter last batch: weights, losses and counts match the reference.
#[test]
fn one_step_and_twenty_steps_agree_with_the_reference() {
    let network = Network::classifier(&[37, 18, 11, 5]).unwrap();
    steps_agree(&network, &noise(200, 37, 5, 11));
    steps_agree(&network, &sparse_bytes(200, 37, 5, 11));
    // Enough inputs that the CPU engine gathers them on a separate thread.
    steps_agree(&Network::classifier(&[300, 9, 5]).unwrap(), &sparse_bytes(200, 300, 5, 11));
    // Softmax regression, and one hidden layer.
    for sizes in [vec![37, 5], vec![37, 70, 5]] {
        steps_agree(&Network::classifier(&sizes).unwrap(), &sparse_bytes(200, 37, 5, 11));
    }
}

fn steps_agree(network: &Network, data: &Dataset) {
    let config = Config { batch_size: 16, ..Config::default() };
    let order: Vec<u32> = (0..320u32).map(|i| (i * 77 + 5) % 200).collect();
    for (name, make) in engines() {
        for rows in [16, 9, 320, 19 * 16 + 3] {
            let parameters = Parameters::he_normal(network, 4);
            let mut reference = ReferenceNetwork::new(network, &parameters);
            let (bounds, loss) = reference_steps(&mut reference, data, &order[..rows], &config);
            let mut engine = make(&parameters, network, &config.engine_options(16));
            let (mut sizes, mut sum, mut correct) = (Vec::new(), 0.0, 0);
            let mut sink = |batch: BatchMetrics| {
                sizes.push(batch.rows);
                sum += batch.loss;
                correct += batch.correct;
                Ok(())
            };
            engine.train(&data.view(), &order[..rows], &mut sink).unwrap();
            engine.finish(&mut sink).unwrap();
            let what = format!("{rows} rows on {name}");
            assert_within(&what, &block(engine.parameters()).unwrap(), &reference, &bounds);
            let want: Vec<usize> = order[..rows].chunks(16).map(<[u32]>::len).collect();
            assert_eq!(sizes, want, "{what}");
            assert!((sum - loss).abs() < 1e-5 * loss, "{what}: loss {sum}, want {loss}");
            assert!(correct > 0 && correct <= rows as u64, "{what}: {correct} correct");
        }
    }
}

/// Trains the first epoch in pieces with some rows in between, then epochs 2 and 3, the first again, and a
/// part of another: in the engine's order, or in the host's.
fn epochs(mut engine: Box<dyn Engine>, rows: &Rows<'_>, batch: usize, own: bool) -> (Parameters, Vec<usize>) {
    let (seed, count) = (0x1234_5678_9abc, rows.len());
    let mut sizes = Vec::new();
    let mut sink = |batch: BatchMetrics| {
        sizes.push(batch.rows);
        Ok(())
    };
    let pieces = [
        (1, 0..3 * batch),
        (1, 3 * batch..9 * batch),
        (9, 0..50),
        (1, 9 * batch..count),
        (2, 0..count),
        (3, 0..count),
        (1, 0..count),
        (4, 0..33),
    ];
    for (epoch, positions) in pieces {
        // Engines are never asked for only a part of a later epoch.
        if own && (epoch == 1 || positions == (0..count)) {
            engine.train_epoch(rows, seed, epoch, positions, &mut sink).unwrap();
        } else {
            engine.train(rows, &rows_at(seed, epoch, count, positions), &mut sink).unwrap();
        }
    }
    engine.finish(&mut sink).unwrap();
    (block(engine.parameters()).unwrap(), sizes)
}

/// An engine that computes the order of an epoch gets the same order as the host, so the results are the same
/// bits: for a set that stays on the device, one that passes through a window, and one longer than the order
/// used to be.
#[test]
fn engines_order_an_epoch_as_the_host_does() {
    let options = EngineOptions::sgd(16, 0.1);
    let network = Network::classifier(&[37, 5, 3]).unwrap();
    let data = noise(777, 37, 3, 14);
    for (name, make) in engines() {
        let run = |rows: Rows<'_>, own| {
            epochs(make(&Parameters::he_normal(&network, 4), &network, &options), &rows, 16, own)
        };
        let own = run(data.view(), true);
        assert!(own == run(data.view(), false), "{name}");
        // The number of rows is unknown: they pass through a window, and no engine computes their order.
        assert!(own == run(Rows { total: None, ..data.view() }, false), "{name}, a window");
    }
    let config = Config { batch_size: 500, ..Config::default() };
    let network = Network::classifier(&[3, 2]).unwrap();
    let data = noise(70_000, 3, 2, 15);
    for device in devices() {
        let run = |own| {
            let parameters = Parameters::he_normal(&network, 4);
            epochs(
                device.engine(&parameters, &network, &config.engine_options(500)).unwrap(),
                &data.view(),
                500,
                own,
            )
        };
        assert!(run(true) == run(false), "{device:?}");
    }
}

/// The order of the first epoch consists of whole blocks, of later ones of all rows: no order is computed
/// while rows are read.
#[test]
fn no_order_is_made_of_rows_that_are_still_to_be_read() {
    let network = Network::classifier(&[3, 2]).unwrap();
    let data = noise(BLOCK_ROWS + 500, 3, 2, 15);
    for device in devices() {
        let parameters = Parameters::he_normal(&network, 4);
        let mut engine = device.engine(&parameters, &network, &Config::default().engine_options(64)).unwrap();
        for total in [None, Some(BLOCK_ROWS + 501)] {
            let rows = Rows { total, ..data.view() };
            for (epoch, end, is_known) in [
                (1, BLOCK_ROWS, true),
                (1, BLOCK_ROWS + 64, false),
                (2, 64, false),
                (3, BLOCK_ROWS + 500, false),
            ] {
                let trained = engine.train_epoch(&rows, 1, epoch, 0..end, &mut |_| Ok(()));
                assert_eq!(trained.is_ok(), is_known, "{device:?}, {total:?}, epoch {epoch} to row {end}");
            }
        }
        engine.train_epoch(&data.view(), 1, 2, 0..BLOCK_ROWS + 500, &mut |_| Ok(())).unwrap();
        engine.finish(&mut |_| Ok(())).unwrap();
    }
}

/// Optimizer state, parameters and step are consistent: there is no snapshot between steps.
#[test]
fn no_snapshot_is_taken_while_steps_are_on_their_way() {
    let network = Network::classifier(&[3, 2]).unwrap();
    let data = noise(200, 3, 2, 15);
    for device in devices() {
        let parameters = Parameters::he_normal(&network, 4);
        let mut engine = device.engine(&parameters, &network, &Config::default().engine_options(64)).unwrap();
        let (rows, order) = (data.view(), Order::Epoch { seed: 1, epoch: 1 });
        let taken = engine.submit(&Batches { rows, order, positions: 0..200, epoch: 1 }).unwrap();
        assert!(block(engine.snapshot()).is_err(), "{device:?}");
        engine.finish(&mut |_| Ok(())).unwrap();
        let (after, state) = block(engine.snapshot()).unwrap();
        assert!(state.step > 0 && after != parameters, "{device:?}");
        assert_eq!(state.step, taken.div_ceil(64) as u64, "{device:?}");
    }
}

/// Shaders trust the order, so the engine must check it.
#[test]
fn rows_that_are_not_there_are_refused() {
    let network = Network::classifier(&[3, 2]).unwrap();
    let data = noise(20, 3, 2, 15);
    for device in devices().into_iter().skip(1) {
        let parameters = Parameters::he_normal(&network, 4);
        let mut engine = device.engine(&parameters, &network, &Config::default().engine_options(8)).unwrap();
        for rows in [data.view(), Rows { total: None, ..data.view() }] {
            assert!(engine.train(&rows, &[3, 20, 1], &mut |_| Ok(())).is_err());
            for epoch in [1, 2] {
                assert!(engine.train_epoch(&rows, 1, epoch, 0..21, &mut |_| Ok(())).is_err());
            }
        }
        engine.train(&data.view(), &[3, 19, 1], &mut |_| Ok(())).unwrap();
        engine.finish(&mut |_| Ok(())).unwrap();
    }
}

/// Evaluation of more rows than fit a batch, and not a multiple of it.
#[test]
fn evaluation_agrees_with_the_reference() {
    let network = Network::classifier(&[21, 9, 4]).unwrap();
    let data = noise(1111, 21, 4, 12);
    let parameters = Parameters::he_normal(&network, 4);
    let (x, targets) = inputs(&data);
    let logits = ReferenceNetwork::new(&network, &parameters).logits(x.view());
    let loss = tinytrain::reference::ops::cross_entropy(logits.view(), &targets).sum() / 1111.0;
    let predictions = tinytrain::reference::ops::predictions(logits.view());
    for (name, make) in engines() {
        let evaluation =
            block(make(&parameters, &network, &EngineOptions::sgd(64, 0.1)).evaluate(&data.view())).unwrap();
        assert!((evaluation.loss - loss).abs() < 1e-6 * loss, "{name}: {} {loss}", evaluation.loss);
        let equal =
            evaluation.predictions.iter().zip(&predictions).filter(|(a, b)| **a as usize == **b).count();
        assert_eq!(equal, 1111, "{name}");
    }
}

fn run(config: &Config, reader: Reader, device: &Device) -> Summary {
    train(config, reader, None, device, &mut |_| Ok(())).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    let pictures = Pictures::new(5000, 36, 4, 1);
    for device in devices() {
        let config = Config { hidden: vec![17, 9], epochs: 2, ..Config::default() };
        let first = run(&config, pictures.idx(), &device);
        let second = run(&config, pictures.idx(), &device);
        assert_eq!(first.model, second.model, "{}", first.engine.device);
        assert_eq!(first.epochs[1].train.loss, second.epochs[1].train.loss);
        let other = run(&Config { seed: 2, ..config }, pictures.idx(), &device);
        assert_ne!(first.model, other.model, "{}", first.engine.device);
    }
}

/// An epoch with a short last batch gives the same results under every schedule; tables, whose rows pass
/// through a window, give the same bits as images, whose rows stay on the device.
#[test]
fn schedules_end_an_epoch_alike() {
    let pictures = Pictures::new(5000, 36, 4, 7);
    for device in devices().into_iter().filter(|device| !matches!(device, Device::Cpu)) {
        for hidden in [vec![], vec![9], vec![17, 9, 5]] {
            let [plain, fused, two] = ScheduleKind::ALL.map(|kind| {
                let schedule = Some(kind);
                let data = as_bytes();
                let config =
                    Config { hidden: hidden.clone(), epochs: 1, schedule, data, ..Config::default() };
                let images = run(&config, pictures.idx(), &device);
                let table = run(&config, csv_reader(pictures.csv()), &device);
                assert_eq!(
                    images.model.parameters, table.model.parameters,
                    "{kind} on {}",
                    images.engine.device
                );
                assert_eq!(images.epochs[0].train.loss, table.epochs[0].train.loss);
                images
            });
            for other in [plain, two] {
                let [want, got] = [&fused.epochs[0], &other.epochs[0]];
                let off = (got.train.loss - want.train.loss).abs();
                assert!(off < 1e-4 * want.train.loss, "{hidden:?}: {got:?}, fused {want:?}");
                assert!((got.train.accuracy - want.train.accuracy).abs() < 1e-3, "{got:?}, fused {want:?}");
            }
        }
    }
}

/// MNIST with a small network, one epoch on every device: the same accuracy within 0.3 points, and a good
/// one.
#[test]
fn engines_end_within_a_third_of_a_point_on_mnist() {
    let sources = locate(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/mnist")).unwrap();
    let open = |source: &Option<_>| Reader::open(source.as_ref().unwrap(), &ReadOptions::default()).unwrap();
    let config = Config { hidden: vec![32], epochs: 1, ..Config::default() };
    let accuracies: Vec<(String, f64)> = devices()
        .iter()
        .map(|device| {
            let (reader, test) = (open(&sources.train), open(&sources.test));
            let summary = train(&config, reader, Some(test), device, &mut |_| Ok(())).unwrap();
            (summary.engine.device, summary.epochs[0].test.as_ref().unwrap().accuracy)
        })
        .collect();
    let (_, cpu) = accuracies[0];
    assert!(cpu > 0.91, "{accuracies:?}");
    assert!(accuracies.iter().all(|(_, accuracy)| (accuracy - cpu).abs() < 0.003), "{accuracies:?}");
}

/// A loss that is not finite ends the run, on every device, at the same step.
#[test]
fn a_diverging_run_ends_at_the_exact_step() {
    let pictures = Pictures::new(600, 16, 3, 2);
    let mut steps = Vec::new();
    for device in devices() {
        let config = Config { hidden: vec![8], learning_rate: 1e20, ..Config::default() };
        let mut epochs = 0;
        let error = train(&config, pictures.idx(), None, &device, &mut |event| {
            epochs += usize::from(matches!(event, Event::Epoch { .. }));
            Ok(())
        })
        .unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert_eq!(epochs, 0);
        let Error::NonFiniteLoss { step, epoch, batch, learning_rate, loss } = error else {
            panic!("{error}");
        };
        assert!(!loss.is_finite());
        assert_eq!((epoch, batch, learning_rate), (1, step, 1e20));
        steps.push(step);
    }
    assert!(steps.iter().all(|step| *step == steps[0] && *step > 1), "{steps:?}");
}

/// A batch with finite losses has a finite sum, however large, and so has a data set; the loss of a row that
/// exceeds f32 is infinite. On every engine, under every schedule.
#[test]
fn huge_losses_are_summed_alike() {
    let rows = 100;
    let data = Dataset {
        inputs: 1,
        features: Features::Floats(vec![1.0; rows]),
        targets: (0..rows as u32).map(|row| row % 2).collect::<Vec<u32>>().into(),
        weights: Vec::new(),
    };
    let network = Network::classifier(&[1, 3, 2]).unwrap();
    let order: Vec<u32> = (0..rows as u32).collect();
    for (name, make) in engines() {
        let mut engine = make(&Parameters::zeros(&network), &network, &EngineOptions::sgd(rows, 1e-30));
        for (logit, row_loss) in [(1.5e38f32, 3e38f64), (3e38, f64::INFINITY)] {
            // Rows of class 1 are wrong by twice the logit, the others are right.
            let mut parameters = Parameters::zeros(&network);
            parameters.layers[1].bias = vec![logit, -logit];
            engine.restore(&parameters, &EngineState::default()).unwrap();
            let mut losses = Vec::new();
            let mut sink = |batch: BatchMetrics| {
                losses.push(batch.loss);
                Ok(())
            };
            engine.train(&data.view(), &order, &mut sink).unwrap();
            engine.finish(&mut sink).unwrap();
            let mean = block(engine.evaluate(&data.view())).unwrap().loss;
            let want = row_loss / 2.0;
            let near = |loss: f64| loss == want || (loss - want).abs() <= 1e-5 * want;
            assert!(losses.len() == 1 && near(losses[0] / rows as f64), "{name}: {losses:?}, mean {want}");
            assert!(near(mean), "{name}: {mean}, want {want}");
        }
    }
}

/// An error of the caller, such as a full disk, ends the run with that error.
#[test]
fn an_error_of_the_report_ends_the_run() {
    let pictures = Pictures::new(600, 16, 3, 2);
    let config = Config { hidden: vec![8], epochs: 3, ..Config::default() };
    let mut epochs = 0;
    let error = train(&config, pictures.idx(), None, &Device::Cpu, &mut |event| {
        if let Event::Epoch { .. } = event {
            epochs += 1;
            return Err(Error::Config("the disk is full".to_owned()));
        }
        Ok(())
    })
    .unwrap_err();
    assert_eq!((epochs, error.to_string().as_str()), (1, "the disk is full"));
}
