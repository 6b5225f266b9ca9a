//! Members that were trained on folds, once more on all rows.

use tinytrain::sweep::{Ended, Event, Fate, Member, Plan, Sweep};
use tinytrain::{Error, Result};

use super::finish::{Finish, Refit};
use super::planned::Planned;
use crate::cli::progress::Bar;

/// After how much time somebody who waits is shown how far it is.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

impl Finish<'_> {
    /// Trains these members on all rows, as a sweep does it.
    ///
    /// # Errors
    /// Those of the data and of the threads; [`Error::Interrupted`].
    pub fn on_all_rows(&mut self, numbers: &[usize], planned: &[Planned]) -> Result<Refit> {
        let mut members = Vec::new();
        for member in self.members.iter().filter(|member| numbers.contains(&member.number)) {
            let data = vec![self.sources.data(&member.config, None)?];
            members.push(Member { data, is_tested: false, ..member.clone() });
        }
        let training = |number: usize| members.iter().find(|member| member.number == number);
        let plan = Plan {
            device: self.device.clone(),
            threads: self.common.base.training.settings.threads,
            halving: None,
            first_stage: 0,
            deadline: None,
        };
        let (mut refit, start) = (Refit::default(), std::time::Instant::now());
        let mut sweep = Sweep::new(members.clone(), plan);
        let mut bar = Bar::new(self.is_seen);
        while let Some(event) = sweep.next()? {
            if !(self.goes_on)() {
                return Err(Error::Interrupted);
            }
            if let Event::Ended(ended) = event {
                let Ended { member: number, fate, runs, .. } = *ended;
                let planned = planned.iter().find(|planned| planned.number == number);
                match (fate, runs.first(), planned.zip(training(number))) {
                    (Fate::Failed(reason), ..) => drop(refit.failed.insert(number, reason)),
                    (_, Some(run), Some((planned, member))) => {
                        let model = planned.model(&run.model, member.data[0].training());
                        refit.models.insert(number, model);
                    }
                    _ => {}
                }
            }
            if start.elapsed() >= PATIENCE {
                bar.count("training on all rows", refit.models.len() + refit.failed.len(), members.len());
            }
        }
        Ok(refit)
    }
}
