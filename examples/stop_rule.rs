//! A rule of one's own for the end of training: `cargo run --release --example stop_rule`.

use tinytrain::ndarray::Array2;
use tinytrain::{Event, Result, TrainSettings, Trainer};

/// Trains until an epoch has made the loss less than a hundredth smaller; says how many epochs that took, and the accuracy.
pub fn train() -> Result<(usize, f64)> {
    let x =
        Array2::from_shape_fn((600, 2), |(row, column)| ((row * (7 + 4 * column)) % 100) as f32 / 50.0 - 1.0);
    let is_inside = |x: f32, y: f32| x * x + y * y < 0.6;
    let y: Vec<bool> = x.rows().into_iter().map(|row| is_inside(row[0], row[1])).collect();

    let mut before = f64::INFINITY;
    let settings = TrainSettings { hidden: Some([16].into()), epochs: Some(500), ..Default::default() };
    let mut run = Trainer::new(settings).start(&x, &y)?;
    while let Some(event) = run.next()? {
        if let Event::Epoch { epoch, .. } = event {
            let loss = epoch.train.loss;
            if epoch.epoch > 5 && loss > 0.99 * before {
                run.stop();
            }
            before = loss;
        }
    }
    let summary = run.summary()?;
    Ok((summary.epochs.len(), summary.model.score(&x, &y)?.accuracy))
}

fn main() -> Result<()> {
    let (epochs, accuracy) = train()?;
    println!("stopped after {epochs} epochs, accuracy {accuracy:.3}");
    Ok(())
}
