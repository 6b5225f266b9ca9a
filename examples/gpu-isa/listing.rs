//! The machine code, and beside each instruction what the slowest wave did with it.

use std::fmt::Write;

use crate::assembly::Assembly;
use crate::walk::Walk;

/// Lines of: how often it was executed, microseconds that it waited in all, the instruction.
pub fn listing(text: &str, assembly: &Assembly, walk: Option<&Walk>, clock: f64) -> String {
    let mut listed = String::from("; executed, microseconds waited, instruction\n");
    let mut steps = assembly.instructions.iter().enumerate().peekable();
    for (number, line) in text.lines().enumerate() {
        let mut head = String::new();
        while let Some((index, _)) = steps.next_if(|(_, instruction)| instruction.line == number) {
            if let Some(step) = walk.map(|walk| walk.steps[index]).filter(|step| step.visits > 0) {
                let waited = step.waited / clock;
                let waited = if waited > 0.0 { format!("{waited:.2}") } else { String::new() };
                head = format!("{:>8} {waited:>8}", step.visits);
            }
        }
        // Infallible: it is written to a string.
        let _ = writeln!(listed, "{head:17}  {line}");
    }
    listed
}
