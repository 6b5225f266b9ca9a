//! A graph, built node by node. Values are referred to by name.

use super::proto::{
    AttributeProto, DOUBLE, FLOAT, FLOAT_ATTRIBUTE, FLOATS_ATTRIBUTE, INT_ATTRIBUTE, INT64, INTS_ATTRIBUTE,
    NodeProto, STRINGS_ATTRIBUTE, TensorProto,
};

/// The nodes and constants so far.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<NodeProto>,
    pub(super) constants: Vec<TensorProto>,
}

/// An attribute of a node.
pub(super) enum Attribute {
    Float(&'static str, f32),
    Floats(&'static str, Vec<f32>),
    Int(&'static str, i64),
    Ints(&'static str, Vec<i64>),
    Strings(&'static str, Vec<String>),
}

impl From<Attribute> for AttributeProto {
    fn from(attribute: Attribute) -> Self {
        let empty = AttributeProto::default();
        match attribute {
            Attribute::Float(name, f) => {
                AttributeProto { name: name.to_owned(), f: Some(f), r#type: FLOAT_ATTRIBUTE, ..empty }
            }
            Attribute::Floats(name, floats) => {
                AttributeProto { name: name.to_owned(), floats, r#type: FLOATS_ATTRIBUTE, ..empty }
            }
            Attribute::Strings(name, strings) => {
                AttributeProto { name: name.to_owned(), strings, r#type: STRINGS_ATTRIBUTE, ..empty }
            }
            Attribute::Int(name, i) => {
                AttributeProto { name: name.to_owned(), i: Some(i), r#type: INT_ATTRIBUTE, ..empty }
            }
            Attribute::Ints(name, ints) => {
                AttributeProto { name: name.to_owned(), ints, r#type: INTS_ATTRIBUTE, ..empty }
            }
        }
    }
}

impl Graph {
    /// Adds a node and returns the name of its value.
    pub(super) fn add(&mut self, operator: &str, inputs: &[&str]) -> String {
        self.add_with(operator, inputs, Vec::new())
    }

    /// As [`Graph::add`], with attributes.
    pub(super) fn add_with(&mut self, operator: &str, inputs: &[&str], attributes: Vec<Attribute>) -> String {
        let name = format!("{}_{}", operator.to_lowercase(), self.nodes.len() + 1);
        self.node(operator, inputs, attributes, &name);
        name
    }

    /// As [`Graph::add_with`], with a name for the value.
    pub(super) fn node(&mut self, operator: &str, inputs: &[&str], attributes: Vec<Attribute>, output: &str) {
        self.nodes.push(NodeProto {
            input: inputs.iter().map(|&input| input.to_owned()).collect(),
            output: vec![output.to_owned()],
            name: output.to_owned(),
            op_type: operator.to_owned(),
            attribute: attributes.into_iter().map(AttributeProto::from).collect(),
            domain: String::new(),
        });
    }

    /// Adds a constant and returns its name.
    fn constant(&mut self, name: Option<&str>, data_type: i32, shape: &[usize], raw_data: Vec<u8>) -> String {
        let numbered = || format!("constant_{}", self.constants.len() + 1);
        let name = name.map_or_else(numbered, str::to_owned);
        let dims = shape.iter().map(|size| *size as i64).collect();
        self.constants.push(TensorProto { dims, data_type, name: name.clone(), raw_data });
        name
    }

    /// Adds a named constant of 32-bit floats.
    pub(super) fn weights(&mut self, name: &str, shape: &[usize], values: &[f32]) -> String {
        self.constant(Some(name), FLOAT, shape, values.iter().flat_map(|it| it.to_le_bytes()).collect())
    }

    /// Adds a constant of 32-bit floats.
    pub(super) fn floats(&mut self, shape: &[usize], values: &[f32]) -> String {
        self.constant(None, FLOAT, shape, values.iter().flat_map(|it| it.to_le_bytes()).collect())
    }

    /// Adds a 32-bit float.
    pub(super) fn float(&mut self, value: f32) -> String {
        self.floats(&[], &[value])
    }

    /// Adds a constant of 64-bit floats.
    pub(super) fn doubles(&mut self, shape: &[usize], values: &[f64]) -> String {
        self.constant(None, DOUBLE, shape, values.iter().flat_map(|it| it.to_le_bytes()).collect())
    }

    /// Adds a 64-bit float.
    pub(super) fn double(&mut self, value: f64) -> String {
        self.doubles(&[], &[value])
    }

    /// Adds a list of 64-bit integers.
    pub(super) fn integers(&mut self, values: &[i64]) -> String {
        let bytes = values.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.constant(None, INT64, &[values.len()], bytes)
    }

    /// Converts a value to another type.
    pub(super) fn cast(&mut self, value: &str, to: i32) -> String {
        self.add_with("Cast", &[value], vec![Attribute::Int("to", to.into())])
    }

    /// Selects columns of [batch, columns], in this order; returns the value itself if nothing would change.
    pub(super) fn select(&mut self, value: &str, columns: &[usize], of: usize) -> String {
        if columns.iter().copied().eq(0..of) {
            return value.to_owned();
        }
        let columns = self.integers(&columns.iter().map(|column| *column as i64).collect::<Vec<_>>());
        self.add_with("Gather", &[value, &columns], vec![Attribute::Int("axis", 1)])
    }

    /// Joins pieces of [batch, columns], whose columns have these positions, in the order of the positions.
    pub(super) fn assemble(&mut self, pieces: Vec<(String, Vec<usize>)>) -> String {
        let (values, places): (Vec<String>, Vec<Vec<usize>>) =
            pieces.into_iter().filter(|(_, places)| !places.is_empty()).unzip();
        let together = match &values[..] {
            [only] => only.clone(),
            all => {
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                self.add_with("Concat", &all, vec![Attribute::Int("axis", 1)])
            }
        };
        let places = places.concat();
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|index| places[*index]);
        self.select(&together, &order, places.len())
    }
}
