//! What networks that are trained together make of the rows that validate and test: several at a time, since then the rows are
//! gathered or copied once for all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::data::{Dataset, Rows};
use crate::error::Result;
use crate::train::SharedData;

/// Evaluations, or outputs, of held-out rows that nobody has asked for yet.
pub(super) struct HeldOut<T> {
    data: Arc<SharedData>,
    /// Of the rows that validate and of those that test, by member.
    made: [BTreeMap<usize, T>; 2],
}

impl<T> HeldOut<T> {
    /// Nothing yet.
    pub fn new(data: &Arc<SharedData>) -> Self {
        Self { data: Arc::clone(data), made: Default::default() }
    }

    /// Forgets everything: networks have changed.
    pub fn forget(&mut self) {
        self.made = Default::default();
    }

    /// What a member makes of rows. Where that is not there already, `make` says it of this member; and if it is asked for several,
    /// as held-out rows will be asked about all, of others, too.
    pub fn take(
        &mut self,
        member: usize,
        rows: &Rows<'_>,
        make: impl FnOnce(bool) -> Result<Vec<(usize, T)>>,
    ) -> Result<Option<T>> {
        let sets = [self.data.validation(), self.data.test()];
        let are_these = |set: &Dataset| std::ptr::eq(&raw const set.features, rows.features);
        let Some(set) = sets.iter().position(|set| set.is_some_and(are_these)) else {
            return Ok(BTreeMap::from_iter(make(false)?).remove(&member));
        };
        if let Some(made) = self.made[set].remove(&member) {
            return Ok(Some(made));
        }
        self.made[set].extend(make(true)?);
        Ok(self.made[set].remove(&member))
    }
}
