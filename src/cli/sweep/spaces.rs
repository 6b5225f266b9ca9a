//! Settings that are tried where nobody has said which.

use serde_json::{Value, json};
use tinytrain::settings::Preset;
use tinytrain::sweep::{Range, Space, Values};

fn log(low: f64, high: f64) -> Values {
    Values::Range(Range { bounds: [low, high], is_log: true, is_whole: false, points: Some(5) })
}

fn choice<const N: usize>(values: [Value; N]) -> Values {
    Values::Choice(values.into())
}

/// The settings that suit a preset.
pub fn usual(preset: Preset, of_classes: bool) -> Space {
    let mut settings = match preset {
        // About the settings of the preset, which are good ones: what RealMLP's authors search, as far as it is an option here.
        Preset::Table => vec![
            ("lr", log(0.02, 0.3)),
            (
                "hidden",
                choice([
                    json!([256, 256, 256]),
                    json!([256, 256, 256]),
                    json!([64, 64, 64, 64, 64]),
                    json!([512]),
                ]),
            ),
            ("dropout", choice([json!(0), json!(0.15), json!(0.3)])),
            ("embeddings", choice([json!("pbld"), json!("pbld"), json!("none")])),
            ("activation", choice([json!("selu"), json!("mish"), json!("relu")])),
        ],
        Preset::Plain => vec![
            ("optimizer", choice([json!("adam")])),
            ("lr", log(0.0003, 0.01)),
            ("lr-schedule", choice([json!("cosine")])),
            ("hidden", choice([json!([64]), json!([256]), json!([128, 128]), json!([300, 100])])),
            ("dropout", choice([json!(0), json!(0.1), json!(0.3)])),
            ("batch-size", choice([json!(32), json!(64), json!(128)])),
        ],
    };
    if preset == Preset::Table && of_classes {
        settings.push(("label-smoothing", choice([json!(0), json!(0.1)])));
    }
    Space::new(settings.into_iter().map(|(name, values)| (name.to_owned(), values)))
}
