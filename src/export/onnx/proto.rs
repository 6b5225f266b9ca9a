//! The ONNX messages written, with their field numbers from `onnx.proto` (<https://github.com/onnx/onnx>, IR version
//! 8).

use prost::Message;

/// `AttributeProto.AttributeType`
pub(super) const FLOAT_ATTRIBUTE: i32 = 1;
pub(super) const INT_ATTRIBUTE: i32 = 2;
pub(super) const FLOATS_ATTRIBUTE: i32 = 6;
pub(super) const INTS_ATTRIBUTE: i32 = 7;
pub(super) const STRINGS_ATTRIBUTE: i32 = 8;

/// `TensorProto.DataType`
pub(super) const FLOAT: i32 = 1;
pub(super) const INT64: i32 = 7;
pub(super) const STRING: i32 = 8;
pub(super) const DOUBLE: i32 = 11;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ModelProto {
    #[prost(int64, tag = "1")]
    pub(super) ir_version: i64,
    #[prost(message, repeated, tag = "8")]
    pub(super) opset_import: Vec<OperatorSetIdProto>,
    #[prost(string, tag = "2")]
    pub(super) producer_name: String,
    #[prost(string, tag = "3")]
    pub(super) producer_version: String,
    #[prost(string, tag = "6")]
    pub(super) doc_string: String,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<GraphProto>,
    #[prost(message, repeated, tag = "14")]
    pub(super) metadata_props: Vec<StringStringEntryProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSetIdProto {
    #[prost(string, tag = "1")]
    pub(super) domain: String,
    #[prost(int64, tag = "2")]
    pub(super) version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StringStringEntryProto {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GraphProto {
    #[prost(message, repeated, tag = "1")]
    pub(super) node: Vec<NodeProto>,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) initializer: Vec<TensorProto>,
    #[prost(message, repeated, tag = "11")]
    pub(super) input: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "12")]
    pub(super) output: Vec<ValueInfoProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    pub(super) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) output: Vec<String>,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) attribute: Vec<AttributeProto>,
    /// Empty for the usual operators.
    #[prost(string, tag = "7")]
    pub(super) domain: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AttributeProto {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(float, optional, tag = "2")]
    pub(super) f: Option<f32>,
    #[prost(int64, optional, tag = "3")]
    pub(super) i: Option<i64>,
    #[prost(float, repeated, tag = "7")]
    pub(super) floats: Vec<f32>,
    #[prost(int64, repeated, tag = "8")]
    pub(super) ints: Vec<i64>,
    #[prost(string, repeated, tag = "9")]
    pub(super) strings: Vec<String>,
    #[prost(int32, tag = "20")]
    pub(super) r#type: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorProto {
    #[prost(int64, repeated, tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(super) data_type: i32,
    #[prost(string, tag = "8")]
    pub(super) name: String,
    /// The values in little-endian order.
    #[prost(bytes = "vec", tag = "9")]
    pub(super) raw_data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueInfoProto {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) r#type: Option<TypeProto>,
    #[prost(string, tag = "3")]
    pub(super) doc_string: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TypeProto {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor_type: Option<TensorTypeProto>,
}

/// `TypeProto.Tensor`
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorTypeProto {
    #[prost(int32, tag = "1")]
    pub(super) elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<TensorShapeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorShapeProto {
    #[prost(message, repeated, tag = "1")]
    pub(super) dim: Vec<DimensionProto>,
}

/// `TensorShapeProto.Dimension`: one of the two.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DimensionProto {
    #[prost(int64, optional, tag = "1")]
    pub(super) dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(super) dim_param: Option<String>,
}
