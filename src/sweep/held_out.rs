//! Results of networks that are trained together for the validation and test rows: computed for several
//! networks at a time, so that the rows are gathered or copied once for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::data::{Dataset, Rows};
use crate::error::{Error, Result};
use crate::train::SharedData;

/// Evaluations, or outputs, of held-out rows, computed ahead of requests.
pub(super) struct HeldOut<T> {
    data: Arc<SharedData>,
    /// For validation rows and for test rows.
    sets: [SetOutputs<T>; 2],
}

/// Results for some rows since members were trained.
struct SetOutputs<T> {
    /// Results by member.
    waiting: BTreeMap<usize, T>,
    /// Members with a result so far: results are not computed again for other members' requests.
    members: BTreeSet<usize>,
}

impl<T> Default for SetOutputs<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), members: BTreeSet::new() }
    }
}

impl<T> HeldOut<T> {
    /// Creates an empty store.
    pub fn new(data: &Arc<SharedData>) -> Self {
        Self { data: Arc::clone(data), sets: Default::default() }
    }

    /// Clears everything, since all members have been trained further.
    pub fn forget(&mut self) {
        self.sets = Default::default();
    }

    /// Clears the results of a member, since its parameters have changed. Only this member's results are
    /// computed again.
    pub fn forget_member(&mut self, member: usize) {
        self.sets.iter_mut().for_each(|set| drop(set.waiting.remove(&member)));
    }

    /// Returns a member's result for rows. If there is none, `make` computes it; it is called with true if it
    /// should also compute the results of other members, since held-out rows will be requested for all.
    ///
    /// # Errors
    /// Errors of `make`; [`Error::Config`] if it does not return a result of this member.
    pub fn take(
        &mut self,
        member: usize,
        rows: &Rows<'_>,
        make: impl FnOnce(bool) -> Result<Vec<(usize, T)>>,
    ) -> Result<T> {
        let nothing = || Error::Config(format!("network {member} was not evaluated"));
        let sets = [self.data.validation(), self.data.test()];
        let are_these = |set: &Dataset| std::ptr::eq(&raw const set.features, rows.features);
        let Some(number) = sets.iter().position(|set| set.is_some_and(are_these)) else {
            return BTreeMap::from_iter(make(false)?).remove(&member).ok_or_else(nothing);
        };
        let SetOutputs { waiting, members } = &mut self.sets[number];
        if !waiting.contains_key(&member) {
            let made = make(!members.contains(&member))?;
            members.extend(made.iter().map(|(member, _)| *member));
            waiting.extend(made);
        }
        waiting.remove(&member).ok_or_else(nothing)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::path::Path;

    use super::*;
    use crate::data::{ReadOptions, Reader};
    use crate::sweep::Sources;
    use crate::train::Config;

    #[test]
    fn several_members_are_made_at_once_and_those_with_other_parameters_alone() {
        let reader = || {
            let text = "a,b,class\n".to_owned() + &"1,2,x\n3,4,y\n".repeat(5);
            Reader::from_csv(Path::new("t.csv"), Cursor::new(text), &ReadOptions::default()).unwrap()
        };
        let mut sources = Sources::new(reader(), Some(reader()), Some(reader()));
        let data = sources.data(&Config::default(), None).unwrap();
        let (validation, test) = (data.validation().unwrap().view(), data.test().unwrap().view());
        let mut held_out = HeldOut::new(&data);
        // Each value contains the number of the call that made it.
        let mut calls = 0;
        let mut take = |held_out: &mut HeldOut<usize>, member, rows: &Rows<'_>| {
            let made = held_out.take(member, rows, |several| {
                calls += 1;
                let all = if several { member..3 } else { member..member + 1 };
                Ok(all.map(|member| (member, 10 * calls + member)).collect())
            });
            made.unwrap()
        };
        assert_eq!([0, 1].map(|member| take(&mut held_out, member, &validation)), [10, 11]);
        assert_eq!(take(&mut held_out, 0, &test), 20);
        // The member's earlier result is gone; results waiting for others are not.
        held_out.forget_member(1);
        assert_eq!(take(&mut held_out, 1, &validation), 31);
        assert_eq!([2, 2].map(|member| take(&mut held_out, member, &validation)), [12, 42]);
        assert_eq!(take(&mut held_out, 1, &test), 51);
        held_out.forget();
        assert_eq!([0, 2].map(|member| take(&mut held_out, member, &validation)), [60, 62]);
        let training = data.training().view();
        assert_eq!([0, 1].map(|member| take(&mut held_out, member, &training)), [70, 81]);
    }
}
