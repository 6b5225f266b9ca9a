//! MNIST from its files, with settings by name: `cargo run --release --example mnist [device] [seed] [epochs]`.

use std::path::Path;

use tinytrain::data::{ReadOptions, Reader, locate};
use tinytrain::{Error, Event, Result, TrainSettings, Trainer};

/// Trains, prints every epoch, and says the accuracy on the test images after the last.
pub fn train(trainer: &Trainer) -> Result<f64> {
    let sources = locate(Path::new("data/mnist"))?;
    let open = |source| Reader::open(&source, &ReadOptions::default());
    let images = sources.train.ok_or(Error::Config("data/mnist: no training files".to_owned()))?;
    let mut run = trainer.start_reader(open(images)?, None, sources.test.map(open).transpose()?)?;
    while let Some(event) = run.next()? {
        if let Event::Epoch { epoch, .. } = event {
            let (loss, seconds) = (epoch.train.loss, epoch.duration.as_secs_f64());
            let accuracy = epoch.test.map_or(f64::NAN, |test| test.accuracy);
            println!("epoch {}: loss {loss:.4}, test accuracy {accuracy:.4}, {seconds:.2} s", epoch.epoch);
        }
    }
    let summary = run.summary()?;
    println!("trained on {}", summary.engine.device);
    Ok(summary.kept_epoch().and_then(|epoch| epoch.test.as_ref()).map_or(0.0, |test| test.accuracy))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let device = arguments.next().unwrap_or("cpu".to_owned()).parse()?;
    let seed = arguments.next().map(|text| text.parse()).transpose()?;
    let epochs = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let settings = TrainSettings { seed, epochs: Some(epochs), ..Default::default() };
    train(&Trainer::new(settings).device(device))?;
    Ok(())
}
