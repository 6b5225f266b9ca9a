//! A table whose last fifth, by chance, is held out: `cargo run --release --example table`.

use std::path::Path;

use tinytrain::data::{ReadOptions, Reader, Source};
use tinytrain::{OptimizerKind, Result, TrainSettings, Trainer};

/// Trains, and says the accuracy on the rows that were held out.
pub fn train() -> Result<f64> {
    let source = Source::Csv { path: Path::new("data/tables/wine.csv").to_owned() };
    let reader = Reader::open(&source, &ReadOptions::default())?;
    let settings = TrainSettings {
        hidden: Some([32].into()),
        optimizer: Some(OptimizerKind::Adam),
        epochs: Some(60),
        test_fraction: Some(0.2),
        ..Default::default()
    };
    let mut run = Trainer::new(settings).start_reader(reader, None, None)?;
    while run.next()?.is_some() {}
    let summary = run.summary()?;
    println!("{} of {:?}", summary.model.network, summary.model.data_schema.classes.names());
    Ok(summary.kept_epoch().and_then(|epoch| epoch.test.as_ref()).map_or(0.0, |test| test.accuracy))
}

fn main() -> Result<()> {
    println!("accuracy {:.3}", train()?);
    Ok(())
}
