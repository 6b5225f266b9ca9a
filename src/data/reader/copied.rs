//! Rows that are used again and again, read once.

use super::{Reader, State};
use crate::data::dataset::Features;
use crate::error::Result;
use crate::memory::check_memory;

impl Reader {
    /// Reads to the end and copies all rows.
    ///
    /// # Errors
    /// As [`Reader::next_block`]; [`Error::Config`](crate::Error::Config) if memory does not hold them twice.
    pub fn copied(&mut self) -> Result<Self> {
        self.read_to_end()?;
        let bytes = match &self.table.features {
            Features::Bytes(values) => size_of_val(&values[..]),
            Features::Floats(values) => size_of_val(&values[..]),
        };
        check_memory(bytes as u128, &format!("{}: a copy", self.name.display()))?;
        Ok(Self {
            labels_name: self.labels_name.clone(),
            values: self.values,
            table: self.table.clone(),
            known_rows: self.known_rows,
            threads: self.threads,
            times: self.times.clone(),
            refuses_missing: self.refuses_missing,
            kept: self.kept.clone(),
            dropped: self.dropped,
            late: self.late.clone(),
            ..Self::empty(self.name.clone(), self.inputs, self.form.clone(), State::Complete)
        })
    }
}
