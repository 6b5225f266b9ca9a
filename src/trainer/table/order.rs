//! Reordering of a table's rows in memory.

use super::Table;

impl Table {
    /// Returns these rows, in this order; a row may occur several times.
    ///
    /// # Panics
    /// If a row does not exist.
    #[must_use]
    pub fn taken(&self, rows: &[u32]) -> Self {
        let inputs = self.inputs();
        let mut values = Vec::with_capacity(rows.len() * inputs);
        rows.iter()
            .for_each(|row| values.extend_from_slice(&self.values[*row as usize * inputs..][..inputs]));
        let kept_together = self.kept_together.taken(rows);
        Self { values, rows: rows.len(), columns: self.columns.clone(), kept_together }
    }

    /// Reorders rows as [`Table::taken`] does, in place if repetitions of a row are adjacent.
    ///
    /// # Panics
    /// If a row does not exist.
    #[must_use]
    pub fn arranged(mut self, rows: &[u32]) -> Self {
        let mut order = rows.to_vec();
        order.dedup();
        let different = order.len();
        let mut waits = vec![false; self.rows];
        let is_new = |row: &u32| !std::mem::replace(&mut waits[*row as usize], true);
        if !order.iter().all(is_new) {
            return self.taken(rows);
        }
        // Unused rows are moved to the end and truncated.
        order.extend((0..self.rows as u32).filter(|row| !waits[*row as usize]));
        waits.fill(true);
        let inputs = self.inputs();
        let place = |row: usize| row * inputs..(row + 1) * inputs;
        let mut first_values = vec![0.0; inputs];
        for first in 0..self.rows {
            // Follows a cycle of moves, each row overwritten by its replacement, until it returns to the
            // first row.
            first_values.copy_from_slice(&self.values[place(first)]);
            let mut to = first;
            while std::mem::take(&mut waits[to]) {
                let from = order[to] as usize;
                if from == first {
                    self.values[place(to)].copy_from_slice(&first_values);
                } else {
                    self.values.copy_within(place(from), to * inputs);
                }
                to = from;
            }
        }
        drop((order, waits));
        self.values.truncate(different * inputs);
        // `resize` would double the capacity.
        self.values.reserve_exact((rows.len() - different) * inputs);
        self.values.resize(rows.len() * inputs, 0.0);
        // From the last row on, rows move to make space for their copies.
        let mut from = different;
        for to in (0..rows.len()).rev() {
            from -= usize::from(rows.get(to + 1) != Some(&rows[to]));
            self.values.copy_within(place(from), to * inputs);
        }
        self.rows = rows.len();
        self.kept_together = self.kept_together.taken(rows);
        self
    }
}
