//! Shapes, passes and costs of the kernels that share the reduction body (`shaders/common/segments.wgsl`).

use crate::kernels::{Cost, Description, SegmentShape, Shader, ThreadLayout, Tuning, blocks, word, words};

/// Axis of a matrix along which a kernel works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Along every row; a reduction returns one number per row.
    Rows,
    /// Down every column.
    Columns,
}

impl Axis {
    /// Converts rows and columns to lines and elements per line, and back.
    pub(crate) fn lines(self, rows: usize, columns: usize) -> [usize; 2] {
        match self {
            Axis::Rows => [rows, columns],
            Axis::Columns => [columns, rows],
        }
    }
}

/// Elements per thread before the tree: few, since they are added sequentially.
const EACH: usize = 16;

/// One dispatch of a reduction: lines of a matrix, each cut into blocks, each cut into parts; one output per
/// part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segments {
    /// Whether the lines are rows or columns.
    pub axis: Axis,
    /// Number of lines.
    pub lines: usize,
    /// Elements of a line.
    pub length: usize,
    /// Elements of a block.
    pub block: usize,
    /// Elements of a part of a block.
    pub part: usize,
    /// Distance between rows of the input, in elements.
    pub pitch: usize,
    /// Divisor of results, or 0.
    pub count: usize,
}

impl Segments {
    /// Returns the dispatches that reduce every block of `block` elements of every line of a matrix to one
    /// number. The outputs of the last dispatch are the result: lines times blocks. Sums of a block of n are
    /// trees over runs of 16: the error is at most (16 passes + log2 n) eps / 2 times the sum of the
    /// magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2).
    pub fn passes(axis: Axis, rows: usize, columns: usize, block: usize, tuning: &Tuning) -> Vec<Self> {
        let [lines, length] = axis.lines(rows, columns);
        let mut pass =
            Segments { axis, lines, length, block, part: block, pitch: 4 * blocks(columns), count: 0 };
        let mut passes = Vec::new();
        loop {
            let lanes = tuning.segment_shape(pass.block, pass.down()).lanes;
            pass.part = pass.block.min(lanes * EACH);
            passes.push(pass);
            if pass.parts() == 1 {
                return passes;
            }
            let (outputs, parts) = (pass.outputs(), pass.parts());
            let pitch = pass.pitch_out();
            pass = Segments { length: outputs, block: parts, part: parts, pitch, ..pass };
        }
    }

    fn down(&self) -> bool {
        self.axis == Axis::Columns
    }

    /// Returns the number of parts of a block. The last block may need fewer; its other outputs are
    /// reductions of no elements.
    fn parts(&self) -> usize {
        self.block.div_ceil(self.part.max(1)).max(1)
    }

    /// Returns the number of outputs of a line.
    pub fn outputs(&self) -> usize {
        self.length.div_ceil(self.block.max(1)).saturating_mul(self.parts())
    }

    /// Returns the number of elements of the whole output.
    pub fn total(&self) -> usize {
        self.lines.saturating_mul(self.outputs())
    }

    fn pitch_out(&self) -> usize {
        if self.down() { self.lines } else { self.outputs() }
    }

    /// Returns the common description of the kernels; kernels whose merge has only one operation have no
    /// other choice.
    pub(crate) fn describe(&self, shader: &'static Shader) -> Description {
        let shape = [self.lines, self.length, self.block, self.part, self.parts(), self.outputs()];
        let rest = [self.pitch, self.pitch_out(), self.count, 0, 0, 0];
        let words = [shape.map(word), rest.map(word)].concat();
        let layout = ThreadLayout::Segments { count: self.total(), length: self.part, down: self.down() };
        let shape = format!("{} x {} -> {} x {}", self.lines, self.length, self.lines, self.outputs());
        Description {
            flags: vec![("DOWN", self.down())],
            choices: vec![("OPERATION", 0)],
            ..Description::new(shader, &words, layout, shape)
        }
    }

    /// Returns the bytes of the input and of the output.
    pub(crate) fn extents(&self) -> (u64, u64) {
        let (lines, length) = (self.lines, self.length);
        // Rows are `pitch` apart; the last ends with its last element.
        let stored = |rows: usize, columns: usize, pitch: usize| match rows {
            0 => 0,
            _ => words(&[&[rows - 1, pitch], &[columns]]),
        };
        let input =
            if self.down() { stored(length, lines, self.pitch) } else { stored(lines, length, self.pitch) };
        (input, words(&[&[self.total()]]))
    }

    /// Returns the cost, if reading an element takes `reads` words and an item of `words` words passes
    /// through the tree.
    pub(crate) fn cost(&self, tuning: &Tuning, reads: usize, words: usize, flop: usize) -> Cost {
        let SegmentShape { lanes, abreast } = tuning.segment_shape(self.part, self.down());
        let (elements, total) = (self.lines * self.length, self.total());
        // Every segment of every workgroup passes through the tree, also the unused ones after the last.
        let segments = total.div_ceil(abreast) * abreast;
        Cost::dispatch(reads * elements, words * total, flop * elements)
            .trees(segments, abreast, lanes, words)
    }
}
