//! Arrays of one's own, values to predict: `cargo run --release --example arrays`.

use tinytrain::ndarray::{Array1, Array2};
use tinytrain::{Model, OptimizerKind, Result, TrainSettings, Trainer};

/// Trains on points of a curved surface, saves the model, and says the R2 of what was loaded on points between them.
pub fn train() -> Result<f64> {
    let points = |count: usize, step: f32| {
        Array2::from_shape_fn((count, 2), |(row, column)| (row as f32 * step * [1.0, 0.618][column]).fract())
    };
    let height = |x: &Array2<f32>| -> Array1<f32> {
        x.rows().into_iter().map(|row| (3.0 * row[0]).sin() + row[1] * row[1]).collect()
    };
    let (x, between) = (points(1000, 0.377), points(200, 0.731));

    let settings = TrainSettings {
        hidden: Some([32, 32].into()),
        optimizer: Some(OptimizerKind::Adam),
        lr: Some(0.01),
        ..Default::default()
    };
    let model = Trainer::new(settings).fit(&x, &height(&x))?;
    println!("height of {} is {}", between.row(0), model.predict(&between)?.values[[0, 0]]);

    let path = std::env::temp_dir().join("surface.safetensors");
    model.save(&path)?;
    let score = Model::load(&path)?.score(&between, &height(&between))?;
    Ok(score.values.map_or(0.0, |errors| errors.r2))
}

fn main() -> Result<()> {
    println!("R2 {:.4}", train()?);
    Ok(())
}
