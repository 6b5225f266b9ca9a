//! Choice of the kept model, and early stopping.

use std::sync::Arc;

use crate::model::Model;
use crate::train::{Epoch, Keep, Score, TrainingWarning};

/// State of the choice of the kept model.
pub(crate) struct ModelSelection {
    keep: Keep,
    patience: Option<usize>,
    epochs: usize,
    best: Option<Score>,
    /// Epoch with the best score.
    best_epoch: usize,
    pub(crate) kept: Option<SelectedModel>,
    /// Whether the kept model is from this run; a model from before resuming may have different settings.
    is_offered: bool,
}

/// A model and its epoch.
pub(crate) struct SelectedModel {
    pub(crate) epoch: usize,
    pub(crate) model: Arc<Model>,
    pub(crate) warning: Option<TrainingWarning>,
}

impl ModelSelection {
    /// Creates the state without a model. Without validation rows, the last model is kept.
    pub(crate) fn new(keep: Option<Keep>, patience: Option<usize>, validates: bool) -> Self {
        let keep = if validates { keep.unwrap_or(Keep::Best) } else { Keep::Last };
        Self { keep, patience, epochs: 0, best: None, best_epoch: 0, kept: None, is_offered: false }
    }

    /// Stores the model of an epoch if it is to be kept, and returns whether it is.
    pub(crate) fn offer(
        &mut self,
        epoch: &Epoch,
        model: &Arc<Model>,
        warning: Option<TrainingWarning>,
    ) -> bool {
        let is_kept = self.is_best(epoch) || self.keep == Keep::Last;
        if is_kept {
            self.kept = Some(SelectedModel { epoch: epoch.epoch, model: Arc::clone(model), warning });
            self.is_offered = true;
        }
        is_kept
    }

    /// Removes the kept model, if the next model replaces it, it is from this run, and there is no other
    /// reference.
    pub(crate) fn take_last(&mut self) -> Option<Model> {
        let SelectedModel { epoch, model, warning } = self.kept.take()?;
        let is_replaced = self.keep == Keep::Last && self.is_offered;
        let alone = if is_replaced { Arc::try_unwrap(model) } else { Err(model) };
        alone.map_err(|model| self.kept = Some(SelectedModel { epoch, model, warning })).ok()
    }

    /// Updates the best score, and returns whether this epoch is the best so far.
    fn is_best(&mut self, epoch: &Epoch) -> bool {
        self.epochs = epoch.epoch;
        let is_better = match (&epoch.validation, &self.best) {
            (Some(new), Some(best)) => new.is_better_than(best),
            _ => true,
        };
        if is_better {
            (self.best, self.best_epoch) = (epoch.validation.clone(), epoch.epoch);
        }
        is_better
    }

    /// Restores the state after these epochs, with the model kept then.
    pub(crate) fn resume(&mut self, epochs: &[Epoch], kept: Option<SelectedModel>) {
        for epoch in epochs {
            self.is_best(epoch);
        }
        (self.kept, self.is_offered) = (kept, false);
    }

    /// Returns whether the last model is the one to keep.
    pub(crate) fn keeps_last(&self) -> bool {
        self.keep == Keep::Last || self.kept.is_none()
    }

    /// Returns whether the last `patience` epochs brought no improvement.
    pub(crate) fn has_lost_patience(&self) -> bool {
        self.best.is_some() && self.patience.is_some_and(|patience| self.epochs - self.best_epoch >= patience)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::data::Transform;
    use crate::model::{DataSchema, Network, Parameters};

    fn model() -> Model {
        let network = Network::classifier(&[1, 2]).unwrap();
        let parameters = Parameters::zeros(&network);
        let data_schema = DataSchema::numbered(2);
        Model {
            network,
            transform: Transform::None,
            data_schema,
            parameters,
            ensemble: None,
            origin: None,
            settings: Default::default(),
        }
    }

    fn run(mut selection: ModelSelection, scores: &[(f64, f64)]) -> (Vec<bool>, usize, usize) {
        let mut taken = Vec::new();
        for (number, (accuracy, loss)) in (1..).zip(scores) {
            let train = Score { loss: 1.0, accuracy: 0.5, ..Score::default() };
            let validation = Some(Score { accuracy: *accuracy, loss: *loss, ..Score::default() });
            let (test, duration) = (None, Duration::ZERO);
            let epoch = Epoch { epoch: number, train, validation, test, duration, rows: 1 };
            let (keeps_last, last) = (selection.keep == Keep::Last, selection.take_last());
            // The best model stays, and there is no model before the first epoch.
            assert_eq!(
                (last.is_some(), selection.kept.is_some()),
                (keeps_last && number > 1, !keeps_last && number > 1)
            );
            taken.push(selection.offer(&epoch, &Arc::new(model()), None));
            if selection.has_lost_patience() {
                break;
            }
        }
        (taken.clone(), selection.kept.unwrap().epoch, taken.len())
    }

    #[test]
    fn the_best_model_is_kept_and_patience_counts_from_it() {
        let scores = [(0.5, 1.0), (0.7, 0.9), (0.7, 0.8), (0.6, 0.1), (0.7, 0.8), (0.7, 0.9), (0.9, 0.1)];
        let best = ModelSelection::new(None, None, true);
        assert_eq!(run(best, &scores), (vec![true, true, true, false, false, false, true], 7, 7));
        let patient = ModelSelection::new(Some(Keep::Best), Some(3), true);
        assert_eq!(run(patient, &scores), (vec![true, true, true, false, false, false], 3, 6));
        let last = ModelSelection::new(Some(Keep::Last), Some(3), true);
        assert_eq!(run(last, &scores), (vec![true; 6], 6, 6));
    }

    #[test]
    fn a_model_that_a_run_goes_on_from_is_not_given_up() {
        let mut selection = ModelSelection::new(None, None, false);
        let kept = || SelectedModel { epoch: 1, model: Arc::new(model()), warning: None };
        selection.resume(&[], Some(kept()));
        assert!(selection.take_last().is_none() && selection.kept.is_some());
    }
}
