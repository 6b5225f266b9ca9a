//! Rows of a table in memory, in another order.

use super::Table;

impl Table {
    /// These rows, in this order; one may come several times.
    ///
    /// # Panics
    /// Where there is no such row.
    #[must_use]
    pub fn taken(&self, rows: &[u32]) -> Self {
        let inputs = self.inputs();
        let mut values = Vec::with_capacity(rows.len() * inputs);
        rows.iter()
            .for_each(|row| values.extend_from_slice(&self.values[*row as usize * inputs..][..inputs]));
        let kept_together = self.kept_together.taken(rows);
        Self { values, rows: rows.len(), columns: self.columns.clone(), kept_together }
    }

    /// As [`Table::taken`], in the memory of this table where no row comes again behind another one.
    ///
    /// # Panics
    /// Where there is no such row.
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
        // Those that are not wanted go to the end, and are cut off there.
        order.extend((0..self.rows as u32).filter(|row| !waits[*row as usize]));
        waits.fill(true);
        let inputs = self.inputs();
        let place = |row: usize| row * inputs..(row + 1) * inputs;
        let mut first_values = vec![0.0; inputs];
        for first in 0..self.rows {
            // Each row leaves its place to the one that comes there, until the first has to come.
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
        self.values.truncate(different * inputs);
        self.values.resize(rows.len() * inputs, 0.0);
        // From the last row on they make room for their copies.
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
