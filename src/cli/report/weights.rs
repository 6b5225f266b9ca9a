//! The weights of the first layer as pictures: what each unit looks for among the pixels.

use std::fmt::Write;

use tinytrain::data::ImageForm;
use tinytrain::model::Layer;

use super::judged::Judged;
use super::pixels::signed;
use super::rows::sees_pixels;

/// Units that are shown.
const MOST: usize = 64;

/// The section; nothing where rows are no pictures.
pub fn weights(judged: &Judged) -> String {
    let (Some(ImageForm { height, width, .. }), true) = (judged.model.meaning.image, sees_pixels(judged))
    else {
        return String::new();
    };
    let Some(layer) = judged.model.parameters.layers.first() else { return String::new() };
    let shown = longest(layer, MOST);
    let which = match layer.outputs {
        units if units > MOST => {
            format!("the {MOST} of {units} units with the longest weights, the longest first")
        }
        units => format!("all {units} units"),
    };
    let mut html = format!(
        "<h3>First layer</h3>\n<p>Weights of {which}: orange above 0, blue below, each by its own greatest.</p>\n\
         <ul class=\"units\">\n"
    );
    for unit in shown {
        let image = signed(height, width, &of_unit(layer, unit), &format!("weights of unit {}", unit + 1));
        // Writing into a string cannot fail.
        let _ = writeln!(html, "<li>{image}<span>{}</span></li>", unit + 1);
    }
    html + "</ul>\n"
}

/// The units of a layer whose weights are the longest vectors, so many of them.
fn longest(layer: &Layer, most: usize) -> Vec<usize> {
    let length =
        |unit: usize| of_unit(layer, unit).iter().map(|weight| f64::from(*weight).powi(2)).sum::<f64>();
    let mut units: Vec<(f64, usize)> = (0..layer.outputs).map(|unit| (length(unit), unit)).collect();
    units.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    units.into_iter().take(most).map(|(_, unit)| unit).collect()
}

/// The weights that lead to a unit.
fn of_unit(layer: &Layer, unit: usize) -> Vec<f32> {
    layer.weights.iter().skip(unit).step_by(layer.outputs).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_come_first() {
        let weights = vec![1.0, -3.0, 0.0, 2.0, 0.0, 2.0];
        let layer = Layer { inputs: 2, outputs: 3, weights, bias: vec![0.0; 3] };
        assert_eq!(longest(&layer, 2), [1, 0]);
        assert_eq!(of_unit(&layer, 1), [-3.0, 0.0]);
    }
}
