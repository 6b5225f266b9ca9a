//! Vectors and matrices on the device.

use std::marker::PhantomData;

use bytemuck::Pod;
use ndarray::Array2;

use super::{Compute, TRAP, TRAP_WORDS};
use crate::error::{Error, Result};
use crate::kernels::{blocks, pad_rows, unpad_rows};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for u32 {}
}

/// Element type of a vector.
pub trait Element: sealed::Sealed + Pod + Default + PartialEq + std::fmt::Debug {
    /// Name of the type in WGSL, and suffix of its shader pieces.
    const NAME: &'static str;
}

impl Element for f32 {
    const NAME: &'static str = "f32";
}

impl Element for u32 {
    const NAME: &'static str = "u32";
}

/// Operand or result of kernels that work row by row: a matrix, or a vector as a matrix of one row. Rows are
/// stored in sequence, each padded by zeros to whole vec4s.
pub trait Tensor: Sized {
    /// Type of the elements.
    type Element: Element;

    /// Returns the buffer with the elements.
    fn buffer(&self) -> &wgpu::Buffer;

    /// Returns the number of rows; 1 for a vector.
    fn rows(&self) -> usize;

    /// Returns the number of columns; the length of a vector.
    fn columns(&self) -> usize;

    /// Creates an output with these rows and columns. For a vector, `rows` is 1.
    ///
    /// # Errors
    /// [`Error::Device`] when the device has no buffers of that size.
    fn output(compute: &Compute, rows: usize, columns: usize) -> Result<Self>;

    /// Creates an output of the same shape.
    ///
    /// # Errors
    /// See [`Tensor::output`].
    fn output_like(&self, compute: &Compute) -> Result<Self> {
        Self::output(compute, self.rows(), self.columns())
    }
}

/// A vector of f32 or u32 on the device.
#[derive(Debug, Clone)]
pub struct Vector<T = f32> {
    buffer: wgpu::Buffer,
    length: usize,
    element: PhantomData<T>,
}

/// A matrix of f32 on the device.
#[derive(Debug, Clone)]
pub struct Matrix {
    buffer: wgpu::Buffer,
    rows: usize,
    columns: usize,
}

impl<T: Element> Tensor for Vector<T> {
    type Element = T;

    fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    fn rows(&self) -> usize {
        1
    }

    fn columns(&self) -> usize {
        self.length
    }

    fn output(compute: &Compute, rows: usize, columns: usize) -> Result<Self> {
        debug_assert_eq!(rows, 1, "a vector is one row");
        // A kernel with one thread per element does not write the padding.
        let buffer = compute.output_buffer(columns, 4 * blocks(columns))?;
        Ok(Self { buffer, length: columns, element: PhantomData })
    }
}

impl Tensor for Matrix {
    type Element = f32;

    fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn output(compute: &Compute, rows: usize, columns: usize) -> Result<Self> {
        let words = rows * 4 * blocks(columns);
        Ok(Self { buffer: compute.output_buffer(words, words)?, rows, columns })
    }
}

impl Compute {
    /// Copies a vector to the device.
    ///
    /// # Errors
    /// [`Error::Device`] when the device has no buffers of that size.
    pub fn vector<T: Element>(&self, values: &[T]) -> Result<Vector<T>> {
        let buffer = self.upload(&pad_rows(values, values.len()))?;
        Ok(Vector { buffer, length: values.len(), element: PhantomData })
    }

    /// Copies a matrix to the device.
    ///
    /// # Errors
    /// [`Error::Device`] when the device has no buffers of that size.
    pub fn matrix(&self, values: &Array2<f32>) -> Result<Matrix> {
        let (rows, columns) = values.dim();
        let flat: Vec<f32> = values.iter().copied().collect();
        Ok(Matrix { buffer: self.upload(&pad_rows(&flat, columns))?, rows, columns })
    }
}

impl<T: Element> Vector<T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether the vector has no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Copies the vector to the host. Waits for all earlier dispatches.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device fails.
    pub fn read(&self, compute: &Compute) -> Result<Vec<T>> {
        let mut values = read_words(compute, &self.buffer, 4 * blocks(self.length))?;
        values.truncate(self.length);
        Ok(values)
    }
}

impl Matrix {
    /// Copies the matrix to the host. Waits for all earlier dispatches.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device fails, or (see [`Compute::guarded`]) when a kernel changed the padding.
    pub fn read(&self, compute: &Compute) -> Result<Array2<f32>> {
        let stride = 4 * blocks(self.columns);
        let padded = read_words::<f32>(compute, &self.buffer, self.rows * stride)?;
        if compute.is_guarded() {
            let untidy =
                padded.iter().enumerate().find(|(i, value)| i % stride >= self.columns && **value != 0.0);
            if let Some((i, value)) = untidy {
                let (row, column) = (i / stride, i % stride);
                return Err(Error::Gpu(format!(
                    "the padding at row {row}, column {column} is {value}, not 0"
                )));
            }
        }
        let values = unpad_rows(&padded, self.columns);
        Ok(Array2::from_shape_vec((self.rows, self.columns), values)
            .expect("unpadded rows have the matrix's shape"))
    }
}

fn read_words<T: Element>(compute: &Compute, buffer: &wgpu::Buffer, words: usize) -> Result<Vec<T>> {
    let trap = if compute.is_guarded() { TRAP_WORDS } else { 0 };
    let mut contents: Vec<u32> =
        bytemuck::pod_collect_to_vec(&compute.read_bytes(buffer, 4 * (words + trap) as u64)?);
    if contents.split_off(words).iter().any(|word| *word != TRAP) {
        return Err(Error::Gpu("a kernel wrote behind its output".to_owned()));
    }
    Ok(bytemuck::pod_collect_to_vec(&contents))
}
