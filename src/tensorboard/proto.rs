//! Messages of an event file, with their field numbers from `event.proto`, `summary.proto`
//! (<https://github.com/tensorflow/tensorboard>, `tensorboard/compat/proto`), `plugin_data.proto` of the
//! plugin `hparams`, and `struct.proto` of protocol buffers.

use std::collections::BTreeMap;

use prost::{Message, Oneof};

/// `SessionLog.SessionStatus`
pub(super) const START: i32 = 1;

/// `Status` of the plugin `hparams`.
pub(super) const SUCCESS: i32 = 1;
pub(super) const FAILURE: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    pub(super) wall_time: f64,
    #[prost(int64, tag = "2")]
    pub(super) step: i64,
    #[prost(oneof = "What", tags = "3, 5, 7")]
    pub(super) what: Option<What>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum What {
    #[prost(string, tag = "3")]
    FileVersion(String),
    #[prost(message, tag = "5")]
    Summary(Summary),
    #[prost(message, tag = "7")]
    SessionLog(SessionLog),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SessionLog {
    #[prost(int32, tag = "1")]
    pub(super) status: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Summary {
    #[prost(message, repeated, tag = "1")]
    pub(super) value: Vec<Value>,
}

/// `Summary.Value`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Value {
    #[prost(string, tag = "1")]
    pub(super) tag: String,
    #[prost(float, optional, tag = "2")]
    pub(super) simple_value: Option<f32>,
    #[prost(message, optional, tag = "9")]
    pub(super) metadata: Option<SummaryMetadata>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SummaryMetadata {
    #[prost(message, optional, tag = "1")]
    pub(super) plugin_data: Option<PluginData>,
}

/// `SummaryMetadata.PluginData`
#[derive(Clone, PartialEq, Message)]
pub(super) struct PluginData {
    #[prost(string, tag = "1")]
    pub(super) plugin_name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) content: Vec<u8>,
}

/// The content of the plugin `hparams`, version 0.
#[derive(Clone, PartialEq, Message)]
pub(super) struct HParamsPluginData {
    #[prost(oneof = "Session", tags = "3, 4")]
    pub(super) session: Option<Session>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Session {
    #[prost(message, tag = "3")]
    Start(SessionStartInfo),
    #[prost(message, tag = "4")]
    End(SessionEndInfo),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SessionStartInfo {
    #[prost(btree_map = "string, message", tag = "1")]
    pub(super) hparams: BTreeMap<String, AnyValue>,
    #[prost(double, tag = "5")]
    pub(super) start_time_secs: f64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SessionEndInfo {
    #[prost(int32, tag = "1")]
    pub(super) status: i32,
    #[prost(double, tag = "2")]
    pub(super) end_time_secs: f64,
}

/// `google.protobuf.Value`
#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyValue {
    #[prost(oneof = "Kind", tags = "2, 3, 4")]
    pub(super) kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Kind {
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(bool, tag = "4")]
    Flag(bool),
}
