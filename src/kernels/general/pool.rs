//! Host half of `shaders/pool.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Kernel, Seal, Shader, StepRecord, Tensor, ThreadLayout, Tuning, blocks,
    matrix, shape_error, word,
};

static SHADER: Shader = Shader::new("pool", &[Read, Write]);

/// Operation on the elements of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// Sum.
    Sum,
    /// Sum divided by the number of elements, which is smaller at the start of a row.
    Mean,
    /// Maximum; NaN if an element is NaN.
    Maximum,
}

/// Y[row, i] = op(X[row, i - width + 1 ..= i]), restricted to the row. Buffers: X, Y [rows, columns].
#[derive(Debug, Clone, Copy)]
pub struct Pool {
    /// Rows of the matrices.
    pub rows: usize,
    /// Columns of the matrices.
    pub columns: usize,
    /// op.
    pub window: Window,
    /// Elements of a window, at least 1 and at most `columns`.
    pub width: usize,
}

impl Kernel for Pool {
    fn describe(&self, _: Seal) -> Description {
        let Self { rows, columns, window, width } = *self;
        let shape = format!("{rows} x {columns}, windows of {width}");
        Description {
            flags: vec![("MEAN", window == Window::Mean)],
            choices: vec![("OPERATION", u32::from(window == Window::Maximum))],
            ..Description::new(&SHADER, &[rows, columns, width, 0].map(word), self.layout(), shape)
        }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        if !(1..=self.columns.max(1)).contains(&self.width) {
            let expected = format!("windows of 1 to {} elements", self.columns.max(1));
            return Err(shape_error(&SHADER, expected, self.width.to_string()));
        }
        Ok(vec![matrix(self.rows, self.columns); 2])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let (team, pitch) = (tuning.team, 4 * blocks(self.columns));
        // A team reads its elements and the width - 1 before them.
        let read = |start: usize| {
            let end = (start + team).min(self.columns);
            end.saturating_sub((start + 1).saturating_sub(self.width))
        };
        let reads: usize = (0..pitch).step_by(team).map(read).sum();
        // At position i the formula merges the elements of the window, one fewer merge than elements; a mean
        // is divided too.
        let clipped = self.width * self.width.saturating_sub(1) / 2;
        let merges = (self.columns * self.width).saturating_sub(clipped + self.columns);
        let flop = merges + if self.window == Window::Mean { self.columns } else { 0 };
        let chunks = (0..self.width).step_by(team).map(|done| chunk(team, team.min(self.width - done)));
        let Cost { workgroup_reads, workgroup_writes, barriers, .. } = chunks.sum();
        let teams = tuning.groups(self.layout());
        let shared = [workgroup_reads, workgroup_writes, barriers].map(|of_team| teams * of_team as usize);
        let alone = Cost::dispatch(self.rows * reads, self.rows * pitch, self.rows * flop);
        alone.sharing(shared[0], shared[1], shared[2])
    }
}

impl Pool {
    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Teams { lines: self.rows, length: blocks(self.columns).saturating_mul(4), each: 1 }
    }
}

/// Returns the workgroup memory cost of a chunk of the windows for a team.
fn chunk(team: usize, width: usize) -> Cost {
    let doublings = width.ilog2() as usize;
    // Windows of twice `span` elements end at the team's positions and at the preceding positions that need
    // one.
    let doubled: usize = (1..=doublings).map(|level| team + width - (1 << level)).sum();
    let picked = team * width.count_ones() as usize;
    Cost::default().sharing(2 * doubled + picked, team + width - 1 + doubled, 1 + doublings)
}

/// Computes the sum, mean or maximum of the window of `width` elements that ends at each element, of a vector
/// or of every row of a matrix. Windows at the start of a row are cut off there.
///
/// ```
/// use tinytrain::kernels::{Compute, Window, pool};
/// let compute = Compute::best()?;
/// let x = compute.vector(&[0.0f32, 1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(pool(&compute, &x, Window::Sum, 3)?.read(&compute)?, [0.0, 1.0, 3.0, 6.0, 9.0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for windows of no elements; see also [`Compute::run`].
pub fn pool<T: Tensor<Element = f32>>(compute: &Compute, x: &T, window: Window, width: usize) -> Result<T> {
    if width == 0 {
        let expected = "windows of at least one element".to_owned();
        return Err(shape_error(&SHADER, expected, "windows of 0".to_owned()));
    }
    // No window is longer than a row.
    let kernel = Pool { rows: x.rows(), columns: x.columns(), window, width: width.min(x.columns().max(1)) };
    compute.run_into(x.output_like(compute)?, &kernel, &[x.buffer()], StepRecord::default())
}
