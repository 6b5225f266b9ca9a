//! The description of a model common to all formats: its columns, its networks, its outputs.

use crate::data::{self, ColumnEncoding, NumericScaling, TargetScale, Transform};
use crate::model::{FREQUENCIES, InputColumn, MIXED, Model, Network, Parameters, PlacedColumn, blocks};

/// A model, described from the point of view of its input rows.
pub(super) struct Outline<'a> {
    /// The columns of an input row.
    pub(super) columns: Vec<Column<'a>>,
    /// The networks, each with its weight in the mean.
    pub(super) networks: Vec<Member<'a>>,
    /// The output.
    pub(super) output: Output<'a>,
}

/// A column of an input row, a 32-bit float: a number, or the index of a category; NaN if it is missing.
pub(super) struct Column<'a> {
    /// The name of the column, or its position if there are no names.
    pub(super) name: String,
    /// The conversion to numbers of the networks' input row.
    pub(super) coding: Coding<'a>,
    /// The index of the first of these numbers.
    pub(super) place: usize,
}

/// The conversion of a column to numbers.
pub(super) enum Coding<'a> {
    /// value / 255
    Byte,
    /// The value itself.
    Plain,
    /// The mapped value, computed in f64; if `has_indicator`, followed by a number that is 1 for a missing value, else
    /// 0.
    Number { map: &'a NumericScaling, fill: f64, has_indicator: bool },
    /// -1 for category 0, 1 for category 1, 0 for everything else.
    Sign { categories: &'a [String] },
    /// 1 at the index of the category, 0 elsewhere; if `has_missing`, a missing category has the index after the
    /// others.
    OneHot { categories: &'a [String], has_missing: bool },
    /// The index of the category; if `has_missing`, a missing category has the index after the others; -1 for
    /// everything else.
    Index { categories: &'a [String], has_missing: bool },
}

/// A network with its weight in the mean.
pub(super) struct Member<'a> {
    /// The weight; 1 for a single network.
    pub(super) share: f64,
    pub(super) network: &'a Network,
    pub(super) parameters: &'a Parameters,
}

/// The output of a model for a row.
pub(super) enum Output<'a> {
    /// The probability of each class.
    Probabilities { classes: &'a [String] },
    /// The probability of each label of 0 or 1: 1 / (1 + exp(-outputs)).
    Labels { names: Vec<String> },
    /// Values: outputs * width + center; quantiles in ascending order.
    Values { names: Vec<String>, scale: Option<&'a TargetScale>, are_quantiles: bool },
}

/// The inputs that an input layer makes of a column, with its weights as rows without padding.
pub(super) enum Made<'a> {
    /// The number itself.
    Number,
    /// The number, and three mixtures of its waves.
    Periodic {
        frequencies: &'a [f32],
        phases: &'a [f32],
        /// [mixtures, frequencies]
        mixing: &'a [f32],
        bias: &'a [f32],
    },
    /// 1 at the index of the category.
    OneHot { categories: usize },
    /// The row of the category, zeros for -1.
    Embedding { categories: usize, size: usize, rows: Vec<f32> },
}

impl<'a> Outline<'a> {
    /// Describes a model.
    pub(super) fn from_model(model: &'a Model) -> Self {
        let own = (&model.network, &model.parameters);
        let partners = model.ensemble.iter().flat_map(|ensemble| &ensemble.partners);
        let partners = partners.map(|member| (&member.network, &member.parameters));
        let picks: Vec<u32> = model.ensemble.as_ref().map_or(vec![1], |ensemble| ensemble.picks().collect());
        let all: f64 = picks.iter().copied().map(f64::from).sum();
        let member =
            |((network, parameters), picks)| Member { share: f64::from(picks) / all, network, parameters };
        Self {
            columns: columns(model),
            networks: [own].into_iter().chain(partners).zip(picks).map(member).collect(),
            output: Output::from_model(model),
        }
    }

    /// Numbers per input row of the networks.
    pub(super) fn row(&self) -> usize {
        self.columns.last().map_or(0, |column| column.place + column.coding.numbers())
    }

    /// Names of the columns.
    pub(super) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Numbers per output row.
    pub(super) fn outputs(&self) -> usize {
        self.networks[0].network.outputs()
    }
}

/// The name of a column of a table, or its position; for other data its index.
fn name(columns: &[data::Column], index: usize) -> String {
    match columns.get(index) {
        Some(column) => column.name.clone().unwrap_or_else(|| column.position.to_string()),
        None => index.to_string(),
    }
}

fn columns(model: &Model) -> Vec<Column<'_>> {
    let codings: Vec<Coding> = match &model.transform {
        Transform::Bytes => (0..model.network.columns()).map(|_| Coding::Byte).collect(),
        Transform::None => (0..model.network.columns()).map(|_| Coding::Plain).collect(),
        Transform::Columns(encoding) => {
            encoding.columns.iter().map(|code| Coding::from_encoding(code, encoding.is_numbered)).collect()
        }
    };
    let inputs = model.data_schema.schema.as_ref().map_or(&[][..], |schema| &schema.inputs);
    let placed = codings.into_iter().enumerate().scan(0, |next, (index, coding)| {
        let place = *next;
        *next += coding.numbers();
        Some(Column { name: name(inputs, index), coding, place })
    });
    placed.collect()
}

impl<'a> Coding<'a> {
    fn from_encoding(code: &'a ColumnEncoding, is_numbered: bool) -> Self {
        match code {
            ColumnEncoding::Number { map, fill, has_indicator } => {
                Coding::Number { map, fill: *fill, has_indicator: *has_indicator }
            }
            ColumnEncoding::Category { categories, has_missing } => {
                let (categories, has_missing) = (categories.names(), *has_missing);
                match (code.is_binary(), is_numbered) {
                    (true, _) => Coding::Sign { categories },
                    (false, true) => Coding::Index { categories, has_missing },
                    (false, false) => Coding::OneHot { categories, has_missing },
                }
            }
        }
    }

    /// Numbers that the column becomes.
    pub(super) fn numbers(&self) -> usize {
        match self {
            Coding::Byte | Coding::Plain | Coding::Sign { .. } | Coding::Index { .. } => 1,
            Coding::Number { has_indicator, .. } => 1 + usize::from(*has_indicator),
            // A column without any value still is one number, which is always 0.
            Coding::OneHot { categories, has_missing } => {
                (categories.len() + usize::from(*has_missing)).max(1)
            }
        }
    }

    /// The categories of the column, if it has any.
    pub(super) fn categories(&self) -> Option<&'a [String]> {
        match self {
            Coding::Sign { categories }
            | Coding::OneHot { categories, .. }
            | Coding::Index { categories, .. } => Some(categories),
            Coding::Byte | Coding::Plain | Coding::Number { .. } => None,
        }
    }
}

impl<'a> Output<'a> {
    fn from_model(model: &'a Model) -> Self {
        if model.network.loss().of_classes() {
            return Output::Probabilities { classes: model.data_schema.classes.names() };
        }
        let columns = model.data_schema.schema.as_ref().map_or(&[][..], |schema| &schema.values);
        let names = (0..model.network.outputs()).map(|index| name(columns, index)).collect();
        if model.network.loss().of_labels() {
            return Output::Labels { names };
        }
        let are_quantiles = model.network.quantiles() > 0;
        let names = if are_quantiles { model.data_schema.value_names(&model.network) } else { names };
        Output::Values { names, scale: model.data_schema.target_scale.as_ref(), are_quantiles }
    }
}

impl<'a> Member<'a> {
    /// The inputs that the input layer makes of each number of a row, with the index of the first one; empty without an
    /// input layer.
    pub(super) fn made(&self) -> Vec<(PlacedColumn, Made<'a>)> {
        let Some((layer, parameters)) = self.network.input_layer().zip(self.parameters.input.as_ref()) else {
            return Vec::new();
        };
        let made = |placed: PlacedColumn| {
            let weights = &parameters.weights[4 * placed.weights..][..4 * placed.column.weights()];
            let made = match placed.column {
                InputColumn::Number => Made::Number,
                InputColumn::OneHot { categories } => Made::OneHot { categories },
                InputColumn::Periodic => {
                    let (frequencies, rest) = weights.split_at(FREQUENCIES);
                    let (phases, rest) = rest.split_at(FREQUENCIES);
                    let (mixing, rest) = rest.split_at(MIXED * FREQUENCIES);
                    Made::Periodic { frequencies, phases, mixing, bias: &rest[..MIXED] }
                }
                InputColumn::Embedding { categories, size } => {
                    let rows = weights.chunks_exact(4 * blocks(size)).flat_map(|row| &row[..size]);
                    Made::Embedding { categories, size, rows: rows.copied().collect() }
                }
            };
            (placed, made)
        };
        layer.placed().map(made).collect()
    }

    /// The learnt factor of each input of the first dense layer; empty if there are no factors.
    pub(super) fn scale(&self) -> &'a [f32] {
        self.parameters.input.as_ref().map_or(&[], |input| &input.scale)
    }
}
