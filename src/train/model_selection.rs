//! Which model of a run is kept, and when a run has gone on for long enough without a better one.

use std::sync::Arc;

use crate::model::Model;
use crate::train::{Epoch, Keep, Score, TrainingWarning};

/// The model to keep so far.
pub(crate) struct ModelSelection {
    keep: Keep,
    patience: Option<usize>,
    epochs: usize,
    best: Option<Score>,
    /// The epoch with the best score.
    best_epoch: usize,
    pub(crate) kept: Option<SelectedModel>,
    /// Whether that is of an epoch of this run: a model of one that it goes on from may tell other settings.
    is_offered: bool,
}

/// A model with the epoch after which it was taken.
pub(crate) struct SelectedModel {
    pub(crate) epoch: usize,
    pub(crate) model: Arc<Model>,
    pub(crate) warning: Option<TrainingWarning>,
}

impl ModelSelection {
    /// None yet. The best model can only be kept where something says which is; without that, the last is.
    pub(crate) fn new(keep: Option<Keep>, patience: Option<usize>, validates: bool) -> Self {
        let keep = if validates { keep.unwrap_or(Keep::Best) } else { Keep::Last };
        Self { keep, patience, epochs: 0, best: None, best_epoch: 0, kept: None, is_offered: false }
    }

    /// Takes the model of an epoch if it is to be kept, and says whether it is.
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

    /// Gives up the model that is kept, where the next one takes its place, it is of an epoch of this run, and nobody else has it.
    pub(crate) fn take_last(&mut self) -> Option<Model> {
        let SelectedModel { epoch, model, warning } = self.kept.take()?;
        let is_replaced = self.keep == Keep::Last && self.is_offered;
        let alone = if is_replaced { Arc::try_unwrap(model) } else { Err(model) };
        alone.map_err(|model| self.kept = Some(SelectedModel { epoch, model, warning })).ok()
    }

    /// Whether an epoch is the best so far.
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

    /// Goes on behind these epochs, of which this model was kept.
    pub(crate) fn resume(&mut self, epochs: &[Epoch], kept: Option<SelectedModel>) {
        for epoch in epochs {
            self.is_best(epoch);
        }
        (self.kept, self.is_offered) = (kept, false);
    }

    /// Whether the last model is the one to keep.
    pub(crate) fn keeps_last(&self) -> bool {
        self.keep == Keep::Last || self.kept.is_none()
    }

    /// Whether there has been no better one for as many epochs as patience lasts.
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
            // The best one stays, and there is none before the first.
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
