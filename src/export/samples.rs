//! Models for the tests: every coding of a column, every column type of an input layer, every activation.

use std::collections::BTreeMap;

use crate::data::{Classes, ColumnEncoding, Encoding, NumericScaling, TargetScale, Transform};
use crate::model::{
    DataSchema, Ensemble, EnsembleMember, InputColumn, InputLayer, Model, Network, Parameters,
};
use crate::step::{Activation, Levels, Loss};

fn number(map: NumericScaling, has_indicator: bool) -> ColumnEncoding {
    ColumnEncoding::Number { map, fill: 2.5, has_indicator }
}

fn category(names: &[&str], has_missing: bool) -> ColumnEncoding {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    ColumnEncoding::Category { categories: Classes::named(names).unwrap(), has_missing }
}

/// Six columns: all three maps, two, three and two categories, the last with missing cells.
fn encoding(is_numbered: bool) -> Encoding {
    let columns = vec![
        number(NumericScaling::Affine { center: 2.0, width: 0.5 }, false),
        number(NumericScaling::Clipped { center: 1.0, width: 2.0 }, true),
        number(NumericScaling::Normal(vec![0.0, 1.0, 1.0, 5.0]), false),
        category(&["no", "yes"], false),
        category(&["a", "b", "c \"*/ é"], false),
        category(&["x", "y"], true),
    ];
    Encoding { columns, is_numbered }
}

fn model(
    network: Network,
    transform: Transform,
    data_schema: DataSchema,
    ensemble: Option<Ensemble>,
) -> Model {
    let parameters = Parameters::he_normal(&network, 7);
    Model { network, transform, data_schema, parameters, ensemble, origin: None, settings: BTreeMap::new() }
}

fn network(inputs: usize, outputs: usize, loss: Loss) -> Network {
    let hidden = Activation::ALL.iter().map(|activation| crate::model::Dense::new(4, *activation));
    let last = crate::model::Dense::new(outputs, Activation::Identity);
    Network::new(inputs, hidden.chain([last]).collect(), loss).unwrap()
}

/// Classes from one-hot inputs, with every activation.
pub(super) fn plain() -> Model {
    let encoding = encoding(false);
    let network = network(encoding.inputs(), 3, Loss::CrossEntropy);
    model(network, Transform::Columns(encoding), DataSchema::numbered(3), None)
}

/// Two networks with input layers that predict values; the second has three times the weight of the first.
pub(super) fn ensemble() -> Model {
    let columns = vec![
        InputColumn::Periodic,
        InputColumn::Periodic,
        InputColumn::Number,
        InputColumn::Number,
        InputColumn::Number,
        InputColumn::OneHot { categories: 3 },
        InputColumn::Embedding { categories: 3, size: 5 },
    ];
    let layer = InputLayer::new(columns, true).unwrap();
    let network = network(layer.inputs(), 2, Loss::Mse).with_input_layer(layer).unwrap();
    let parameters = Parameters::he_normal(&network, 9);
    let partners = vec![EnsembleMember { picks: 3, network: network.clone(), parameters }];
    let scale = TargetScale { center: vec![1.5, -2.0], width: vec![10.0, 0.25] };
    let data_schema = DataSchema { target_scale: Some(scale), ..DataSchema::numbered(0) };
    model(network, Transform::Columns(encoding(true)), data_schema, Some(Ensemble { picks: 1, partners }))
}

/// Two labels of 0 or 1, without hidden layers.
pub(super) fn labels() -> Model {
    let last = crate::model::Dense::new(2, Activation::Identity);
    let network = Network::new(3, vec![last], Loss::BinaryCrossEntropy).unwrap();
    model(network, Transform::None, DataSchema::numbered(0), None)
}

/// Three quantiles of a value, without hidden layers.
pub(super) fn quantiles() -> Model {
    let last = crate::model::Dense::new(3, Activation::Identity);
    let network = Network::new(3, vec![last], Loss::Quantile(Levels::DEFAULT)).unwrap();
    let scale = TargetScale { center: vec![1.5; 3], width: vec![10.0; 3] };
    let data_schema = DataSchema { target_scale: Some(scale), ..DataSchema::numbered(0) };
    model(network, Transform::None, data_schema, None)
}

/// Images of 2 x 3 pixels, without hidden layers.
pub(super) fn images() -> Model {
    let data_schema = DataSchema {
        image: Some(crate::data::ImageForm { height: 2, width: 3, colour: false }),
        ..DataSchema::numbered(2)
    };
    model(Network::classifier(&[6, 2]).unwrap(), Transform::Bytes, data_schema, None)
}
