//! Training on arrays in ten lines.
//!
//! ```
//! use tinytrain::ndarray::Array2;
//! use tinytrain::{Model, OptimizerKind, TrainSettings, Trainer};
//!
//! // Is the sum of two numbers above 1?
//! let x = Array2::from_shape_fn((500, 2), |(row, column)| ((row * (7 + 4 * column)) % 100) as f32 / 100.0);
//! let y: Vec<&str> = x.rows().into_iter().map(|row| if row.sum() > 1.0 { "yes" } else { "no" }).collect();
//!
//! let settings =
//!     TrainSettings { hidden: Some([64].into()), optimizer: Some(OptimizerKind::Adam), ..Default::default() };
//! let model = Trainer::new(settings).fit(&x, &y)?;
//! let predicted = model.predict(&x)?;
//! println!("{}: {:.3}", predicted.label(0), predicted.probabilities[[0, 0]]);
//! assert!(model.score(&x, &y)?.accuracy > 0.97);
//!
//! let path = std::env::temp_dir().join("sums.safetensors");
//! model.save(&path)?;
//! assert_eq!(Model::load(&path)?.predict(&x)?, predicted);
//! # Ok::<(), tinytrain::Error>(())
//! ```
//!
//! | argument | value |
//! |---|---|
//! | `x` | an array of `f32`, [rows, columns] |
//! | `y` | labels (any integers, `bool`, text), or values to predict (`f32`, one or several per row): see [`Target`] |
//! | settings | options of `tinytrain train`, with the same names and defaults: see [`TrainSettings`](crate::TrainSettings) |
//!
//! Settings and rows determine the weights: `tinytrain train` on a file with these rows, `y` after `x`, gives
//! the same result, bit for bit, on the same device. (Of a file it ignores columns that only number the rows;
//! of an array all columns are inputs.) Rows may also come from files: [`Trainer::start_reader`].
//!
//! [`Trainer::start`] returns a [`Run`](crate::train::Run), which yields events and can be stopped:
//!
//! ```
//! use tinytrain::ndarray::{Array1, Array2};
//! use tinytrain::{Event, TrainSettings, Trainer};
//!
//! let x = Array2::from_shape_fn((200, 3), |(row, column)| ((row * (5 + 2 * column)) % 17) as f32);
//! let y: Array1<f32> = x.rows().into_iter().map(|row| row.sum()).collect();
//! let mut run = Trainer::new(TrainSettings { seed: Some(3), ..Default::default() }).start(&x, &y)?;
//! while let Some(event) = run.next()? {
//!     if let Event::Epoch { epoch, .. } = event
//!         && epoch.train.loss < 0.05
//!     {
//!         run.stop();
//!     }
//! }
//! let summary = run.summary()?;
//! println!("{} epochs", summary.epochs.len());
//! assert!(summary.model.score(&x, &y)?.values.is_some_and(|errors| errors.r2 > 0.9));
//! # Ok::<(), tinytrain::Error>(())
//! ```
//!
//! Invalid arrays result in [`Error::Data`](crate::Error::Data), whose rows and columns count from 1, as in
//! files: `x, row 3, column 2: expected a finite number, found NaN`.

mod arrays;
mod builder;
mod checks;
mod fitted;
mod table;
mod target;
mod texts;

pub use arrays::Missing;
pub use builder::Trainer;
pub use fitted::Predicted;
pub use table::{Cells, Table, TableBuilder};
pub use target::{Element, Target, TargetData};
pub use texts::TextNotes;
