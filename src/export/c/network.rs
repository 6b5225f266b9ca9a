//! The C code of a network.

use std::fmt::Write;

use super::super::outline::{Made, Member};
use super::pieces::activation_name;
use super::source::array;
use crate::step::Activation;

/// A function `network<number>(row, outputs)`.
pub(super) struct Function {
    pub(super) text: String,
    /// Numbers on the stack of the function.
    pub(super) numbers: usize,
}

/// Makes the function, and appends its weights to the constants.
pub(super) fn function(number: usize, member: &Member<'_>, constants: &mut String) -> Function {
    let prefix = if number == 1 { String::new() } else { format!("network{number}_") };
    let (statements, inputs) = input_layer(&prefix, member, constants);
    let hidden = &member.parameters.layers[..member.parameters.layers.len() - 1];
    // Layers write alternately into two buffers, and read from the other one.
    let widest = |first: usize| hidden.iter().skip(first).step_by(2).map(|layer| layer.outputs).max();
    let buffers = [("x", inputs), ("a", widest(0)), ("b", widest(1))];
    let buffers = buffers.into_iter().filter_map(|(name, size)| Some((name, size?)));
    let declared: Vec<String> = buffers.clone().map(|(name, size)| format!("{name}[{size}]")).collect();
    let mut text = format!("static void network{number}(const float *row, float *outputs)\n{{\n");
    if !declared.is_empty() {
        let _ = writeln!(text, "    float {};", declared.join(", "));
    }
    text += &statements;
    let mut from = if inputs.is_some() { "x" } else { "row" };
    let dense = member.network.dense().iter();
    for (index, (layer, dense)) in member.parameters.layers.iter().zip(dense).enumerate() {
        let to = if index == hidden.len() { "outputs" } else { ["a", "b"][index % 2] };
        let (number, rows, columns) = (index + 1, layer.inputs, layer.outputs);
        let _ = writeln!(constants, "/* Layer {number}: weights [{rows}, {columns}] and bias. */");
        array("float", "f", &format!("{prefix}w{number}"), &layer.weights, constants);
        array("float", "f", &format!("{prefix}b{number}"), &layer.bias, constants);
        constants.push('\n');
        let _ = writeln!(
            text,
            "    dense({from}, {rows}, {prefix}w{number}, {prefix}b{number}, {columns}, {to});"
        );
        if dense.activation != Activation::Identity {
            let _ = writeln!(text, "    {}({to}, {columns});", activation_name(dense.activation));
        }
        from = to;
    }
    Function { text: text + "}\n\n", numbers: buffers.map(|(_, size)| size).sum() }
}

/// The statements that fill `x` from `row`, and the number of its elements; empty without an input layer.
fn input_layer(prefix: &str, member: &Member<'_>, constants: &mut String) -> (String, Option<usize>) {
    let made = member.made();
    let mut text = String::new();
    let mut index = 0;
    while let Some((placed, column)) = made.get(index) {
        let (number, place) = (placed.number, placed.input);
        index += 1;
        match column {
            Made::Number => {
                let others =
                    made[index..].iter().take_while(|(_, made)| matches!(made, Made::Number)).count();
                let _ = writeln!(text, "    copy(row + {number}, {}, x + {place});", 1 + others);
                index += others;
            }
            Made::Periodic { frequencies, phases, mixing, bias } => {
                let (waves, name) = ([*frequencies, phases, mixing].concat(), number + 1);
                array("float", "f", &format!("{prefix}f{name}"), &waves, constants);
                array("float", "f", &format!("{prefix}c{name}"), bias, constants);
                let _ = writeln!(
                    text,
                    "    periodic(row[{number}], {prefix}f{name}, {prefix}c{name}, x + {place});"
                );
            }
            Made::OneHot { categories } => {
                let _ = writeln!(text, "    one_hot((int)row[{number}], {categories}, x + {place});");
            }
            Made::Embedding { size, rows, .. } => {
                let name = number + 1;
                array("float", "f", &format!("{prefix}e{name}"), rows, constants);
                let _ = writeln!(
                    text,
                    "    embedding((int)row[{number}], {prefix}e{name}, {size}, x + {place});"
                );
            }
        }
    }
    if !member.scale().is_empty() {
        let count = member.scale().len();
        array("float", "f", &format!("{prefix}s"), member.scale(), constants);
        let _ = writeln!(text, "    scale(x, {prefix}s, {count});");
    }
    if made.is_empty() {
        return (text, None);
    }
    constants.push('\n');
    (text, Some(member.network.inputs()))
}
