//! Which members predict together: picked by what they make of rows that they were not trained on.

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

/// An ensemble is picked from at least this many of the best members.
const CANDIDATES: usize = 50;

/// Networks by their places, or members by their numbers, each with how often it was picked.
pub type Picks = Vec<(usize, u32)>;

/// Picks an ensemble from the best members.
pub struct EnsembleSelection<'a> {
    /// All members.
    pub members: &'a [Member],
    /// What evaluates them.
    pub device: &'a Device,
    /// Where their models are.
    pub folder: &'a Folder,
    /// The members with a score, the best first.
    pub ranked: &'a [RankedMember],
    /// How often one is picked.
    pub picks: usize,
    /// Decides between equal ones.
    pub seed: u64,
}

/// What was picked.
pub struct SelectedEnsemble {
    group: Group,
    places: Picks,
    /// How good they are together, on the rows that they were picked by.
    pub fit: Fit,
}

/// Members whose inputs are made the same way.
struct Group {
    transform: Transform,
    numbers: Vec<usize>,
    /// The outputs of each member for the rows by which it is picked.
    outputs: Vec<Vec<f32>>,
    /// Outputs of a row.
    columns: usize,
    /// What the rows are to be, in the unit of the outputs.
    targets: Targets,
    /// How much each row counts.
    counts: Vec<f64>,
    loss: Loss,
}

impl EnsembleSelection<'_> {
    /// Picks by the rows that validate.
    ///
    /// # Errors
    /// Those of the models and the device.
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

    /// Picks by the rows that folds hold out: each is predicted by the model of the fold that it does not train in. Members are of
    /// one group if their inputs are made the same way where all rows train; what they predict is compared in the unit of the
    /// targets there.
    ///
    /// # Errors
    /// Those of the models, the data and the device; [`Error::Config`] for models of other data.
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

    /// What a model makes of the rows that were held out of its training, values in the unit of `all` rows.
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

    /// The best members of some, which were trained here.
    fn candidates(&self, is_one: impl Fn(&Record) -> bool) -> Vec<(&Record, &Member)> {
        let records = self.ranked.iter().map(|ranked| &ranked.record).filter(|record| is_one(record));
        let best = records.take(CANDIDATES.max(4 * self.picks));
        best.filter_map(|record| {
            let member = self.members.iter().find(|member| member.number == record.member)?;
            Some((record, member))
        })
        .collect()
    }

    /// Picks from each group, and gives the best.
    fn best(&self, groups: Vec<Group>) -> Option<SelectedEnsemble> {
        let chosen = groups.into_iter().filter_map(|group| {
            let (places, fit) = group.view().select(self.picks, self.seed)?;
            Some(SelectedEnsemble { group, places, fit })
        });
        // Of equal ones the first.
        chosen.reduce(|best, other| if other.fit.loss < best.fit.loss { other } else { best })
    }
}

/// The group of members with this transform, a new one if need be: `of_rows` gives its columns, its targets, and how much each row counts.
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

/// The targets of some rows behind those of others, values in this unit, and how much each counts.
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
    /// Members by their numbers, in the order in which they were picked first, each with how often it was.
    pub fn members(&self) -> Picks {
        self.places.iter().map(|(place, times)| (self.group.numbers[*place], *times)).collect()
    }

    /// This ensemble without some members; `None` if none is left.
    pub fn without(mut self, is_left_out: impl Fn(usize) -> bool) -> Option<Self> {
        self.places.retain(|(place, _)| !is_left_out(self.group.numbers[*place]));
        self.fit = self.group.view().fit_of(&self.places)?;
        Some(self)
    }
}

/// Networks as one model, each as often as it was picked; nothing of none.
pub fn one_model(networks: Vec<(Model, u32)>) -> Option<Model> {
    let mut networks = networks.into_iter();
    let (mut first, picks) = networks.next()?;
    let member = |(Model { network, parameters, .. }, picks)| EnsembleMember { picks, network, parameters };
    first.ensemble = Some(Ensemble { picks, partners: networks.map(member).collect() });
    Some(first)
}
