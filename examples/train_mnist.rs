//! Trains on MNIST through the library: `cargo run --release --example train_mnist [device] [seed] [epochs]`.

use std::path::Path;

use tinytrain::data::{ReadOptions, Reader, locate};
use tinytrain::engine::find_device;
use tinytrain::train::{Config, Event, train};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let device = find_device(&arguments.next().unwrap_or("cpu".to_owned()).parse()?)?;
    let seed = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let epochs = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let config = Config { seed, epochs, ..Config::default() };

    let sources = locate(Path::new("data/mnist"))?;
    let options = ReadOptions::default();
    let reader = Reader::open(&sources.train.ok_or("no training files")?, &options)?;
    let test = sources.test.map(|test| Reader::open(&test, &options)).transpose()?;

    let summary = train(&config, reader, test, &device, &mut |event| {
        if let Event::Epoch { epoch, .. } = event {
            println!(
                "epoch {}: loss {:.4}, test accuracy {:.4}, {:.2} s",
                epoch.epoch,
                epoch.train.loss,
                epoch.test.map_or(f64::NAN, |test| test.accuracy),
                epoch.duration.as_secs_f64()
            );
        }
        Ok(())
    })?;
    println!("trained on {}", summary.engine.device);
    Ok(())
}
