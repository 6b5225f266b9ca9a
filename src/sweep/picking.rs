//! Selection of the members of an ensemble by their predictions for rows that they were not trained on.

use super::ensemble::{Candidates, Fit};
use super::member::Member;
use super::sources::Sources;
use crate::data::{Rows, TargetScale, Targets, TargetsRef, Transform};
use crate::engine::Device;
use crate::error::{Error, Result};
use crate::model::{DataSchema, Ensemble, EnsembleMember, Model};
use crate::step::Loss;
use crate::threads::block;
use crate::train::{SharedData, engine, load_model};

use super::folder::Folder;
use super::leaderboard::RankedMember;
use super::record::Record;

/// Least number of candidates for an ensemble, the best members.
const CANDIDATES: usize = 50;

/// Indices of networks, or numbers of members, each with its number of picks.
pub type Picks = Vec<(usize, u32)>;

/// Selection of an ensemble from the best members.
pub struct EnsembleSelection<'a> {
    /// All members.
    pub members: &'a [Member],
    /// Device for evaluation.
    pub device: &'a Device,
    /// Folder of the models.
    pub folder: &'a Folder,
    /// Members with a score, the best first.
    pub ranked: &'a [RankedMember],
    /// Number of picks.
    pub picks: usize,
    /// Seed for breaking ties.
    pub seed: u64,
}

/// A selected ensemble.
pub struct SelectedEnsemble {
    group: Group,
    places: Picks,
    /// Quality of the ensemble on the rows used for picking.
    pub fit: Fit,
}

/// Members with the same preprocessing.
struct Group {
    transform: Transform,
    numbers: Vec<usize>,
    /// Outputs of each member for the rows used for picking.
    outputs: Vec<Vec<f32>>,
    /// Outputs per row.
    columns: usize,
    /// Targets of the rows, in the unit of the outputs.
    targets: Targets,
    /// Weight of each row.
    counts: Vec<f64>,
    loss: Loss,
}

impl EnsembleSelection<'_> {
    /// Picks by validation rows.
    ///
    /// # Errors
    /// Errors of the models and the device.
    pub fn by_validation(&self) -> Result<Option<SelectedEnsemble>> {
        let mut groups: Vec<Group> = Vec::new();
        for (record, member) in self.candidates(|_| true) {
            let Some(name) = &record.model else { continue };
            let model = load_model(&self.folder.model(name)?)?;
            let Some(rows) = member.data[0].validation() else { continue };
            let outputs = block(engine(&model, self.device)?.outputs(&rows.view()))?;
            let group = group(&mut groups, &model.transform, member.config.loss, || {
                let (outputs, unit) = (model.network.outputs(), &model.data_schema.target_scale);
                (outputs, together(std::iter::once(rows.view()), unit.as_ref()))
            });
            group.numbers.push(record.member);
            group.outputs.push(outputs);
        }
        Ok(self.best(groups))
    }

    /// Picks by the held-out rows of folds: each row is predicted by the model of the fold that does not
    /// train on it. Members form a group if their preprocessing on all rows is the same; their predictions
    /// are compared in the unit of the targets there.
    ///
    /// # Errors
    /// Errors of the models, the data and the device; [`Error::Config`] for models of other data.
    pub fn by_folds(&self, sources: &mut Sources) -> Result<Option<SelectedEnsemble>> {
        let mut groups: Vec<Group> = Vec::new();
        for (record, member) in self.candidates(Record::is_done) {
            let all = sources.data(&member.config, None)?;
            let data_schema = all.training().data_schema();
            let mut outputs = Vec::new();
            for (name, data) in record.fold_models.iter().zip(&member.data) {
                outputs.extend(self.out_of_fold(name, data, &data_schema)?);
            }
            let group = group(&mut groups, all.training().transform(), member.config.loss, || {
                let rows = member.data.iter().filter_map(|data| data.test());
                let rows = rows.map(|rows| rows.view());
                (all.training().outputs(), together(rows, data_schema.target_scale.as_ref()))
            });
            group.numbers.push(record.member);
            group.outputs.push(outputs);
        }
        Ok(self.best(groups))
    }

    /// Returns a model's outputs for the rows held out of its training, values in the unit of `all` rows.
    fn out_of_fold(&self, name: &str, data: &SharedData, all: &DataSchema) -> Result<Vec<f32>> {
        let path = self.folder.model(name)?;
        let model = load_model(&path)?;
        let Some(rows) = data.test() else { return Ok(Vec::new()) };
        let DataSchema { classes, target_scale: own, .. } = &model.data_schema;
        let outputs = data.training().outputs();
        if model.network.outputs() != outputs || *classes != all.classes {
            let text = format!("{}: expected a model of these rows, found other targets", path.display());
            return Err(Error::Config(text));
        }
        let outputs = block(engine(&model, self.device)?.outputs(&rows.view()))?;
        let values = if let Some(own) = own { own.restored(&outputs) } else { outputs };
        Ok(if let Some(unit) = &all.target_scale { unit.scaled(&values) } else { values })
    }

    /// Returns the best of the filtered members that were trained here.
    fn candidates(&self, is_one: impl Fn(&Record) -> bool) -> Vec<(&Record, &Member)> {
        let records = self.ranked.iter().map(|ranked| &ranked.record).filter(|record| is_one(record));
        let best = records.take(CANDIDATES.max(4 * self.picks));
        best.filter_map(|record| {
            let member = self.members.iter().find(|member| member.number == record.member)?;
            Some((record, member))
        })
        .collect()
    }

    /// Picks from each group, and returns the best ensemble.
    fn best(&self, groups: Vec<Group>) -> Option<SelectedEnsemble> {
        let chosen = groups.into_iter().filter_map(|group| {
            let (places, fit) = group.view().select(self.picks, self.seed)?;
            Some(SelectedEnsemble { group, places, fit })
        });
        // On ties, the first wins.
        chosen.reduce(|best, other| if other.fit.loss < best.fit.loss { other } else { best })
    }
}

/// Returns the group of members with this transform, creating it if needed: `of_rows` returns its columns,
/// its targets, and the weight of each row.
fn group<'a>(
    groups: &'a mut Vec<Group>,
    transform: &Transform,
    loss: Loss,
    of_rows: impl FnOnce() -> (usize, (Targets, Vec<f64>)),
) -> &'a mut Group {
    let place = groups.iter().position(|group| group.transform == *transform);
    let place = place.unwrap_or_else(|| {
        let (columns, (targets, counts)) = of_rows();
        let (transform, numbers, outputs) = (transform.clone(), Vec::new(), Vec::new());
        groups.push(Group { transform, numbers, outputs, columns, targets, counts, loss });
        groups.len() - 1
    });
    &mut groups[place]
}

/// Concatenates the targets of several sets of rows, values in this unit, and the weights of the rows.
fn together<'a>(parts: impl Iterator<Item = Rows<'a>>, unit: Option<&TargetScale>) -> (Targets, Vec<f64>) {
    let (mut labels, mut all, mut counts) = (Vec::new(), None, Vec::new());
    for part in parts {
        counts.extend(part.counts());
        match part.targets {
            TargetsRef::Classes(part) => labels.extend_from_slice(part),
            TargetsRef::Values { columns, values } => {
                let (_, all) = all.get_or_insert((columns, Vec::new()));
                match unit {
                    Some(unit) => all.extend(unit.scaled(values)),
                    None => all.extend_from_slice(values),
                }
            }
        }
    }
    (all.map_or(Targets::Classes(labels), |(columns, values)| Targets::Values { columns, values }), counts)
}

impl Group {
    fn view(&self) -> Candidates<'_> {
        let (columns, targets, loss) = (self.columns, self.targets.view(), self.loss);
        Candidates { outputs: &self.outputs, columns, targets, counts: &self.counts, loss }
    }
}

impl SelectedEnsemble {
    /// Returns the members' numbers, in the order of their first picks, each with its number of picks.
    pub fn members(&self) -> Picks {
        self.places.iter().map(|(place, times)| (self.group.numbers[*place], *times)).collect()
    }

    /// Returns this ensemble without some members; `None` if none is left.
    pub fn without(mut self, is_left_out: impl Fn(usize) -> bool) -> Option<Self> {
        self.places.retain(|(place, _)| !is_left_out(self.group.numbers[*place]));
        self.fit = self.group.view().fit_of(&self.places)?;
        Some(self)
    }
}

/// Combines networks into one model, each with its number of picks; `None` for no networks.
pub fn one_model(networks: Vec<(Model, u32)>) -> Option<Model> {
    let mut networks = networks.into_iter();
    let (mut first, picks) = networks.next()?;
    let member = |(Model { network, parameters, .. }, picks)| EnsembleMember { picks, network, parameters };
    first.ensemble = Some(Ensemble { picks, partners: networks.map(member).collect() });
    Some(first)
}
