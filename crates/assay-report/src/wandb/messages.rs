//! The messages of `wandb/proto/wandb_internal.proto` that an offline run needs, with the fields that it uses.

use prost::{Message, Oneof};

/// A record of the log.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WandbRecord {
    #[prost(int64, tag = "1")]
    pub(super) num: i64,
    #[prost(message, optional, tag = "16")]
    pub(super) control: Option<RecordControl>,
    #[prost(oneof = "RecordContent", tags = "2, 3, 6, 12, 17, 18, 21")]
    pub(super) content: Option<RecordContent>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RecordControl {
    /// Names the answer to a record. Without one, `wandb sync` waits forever after the records of run and exit.
    #[prost(string, tag = "4")]
    pub(super) mailbox_slot: String,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum RecordContent {
    #[prost(message, tag = "2")]
    History(HistoryRecord),
    #[prost(message, tag = "3")]
    Summary(SummaryRecord),
    #[prost(message, tag = "6")]
    Files(FilesRecord),
    #[prost(message, tag = "12")]
    Metric(MetricRecord),
    #[prost(message, tag = "17")]
    Run(RunRecord),
    #[prost(message, tag = "18")]
    Exit(RunExitRecord),
    #[prost(message, tag = "21")]
    Header(HeaderRecord),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct HeaderRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) version_info: Option<VersionInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct VersionInfo {
    #[prost(string, tag = "1")]
    pub(super) producer: String,
    #[prost(string, tag = "2")]
    pub(super) min_consumer: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RunRecord {
    #[prost(string, tag = "1")]
    pub(super) run_id: String,
    #[prost(string, tag = "3")]
    pub(super) project: String,
    #[prost(message, optional, tag = "4")]
    pub(super) config: Option<ConfigRecord>,
    #[prost(string, tag = "6")]
    pub(super) run_group: String,
    #[prost(string, tag = "7")]
    pub(super) job_type: String,
    #[prost(string, tag = "8")]
    pub(super) display_name: String,
    #[prost(string, tag = "9")]
    pub(super) notes: String,
    #[prost(string, repeated, tag = "10")]
    pub(super) tags: Vec<String>,
    #[prost(message, optional, tag = "17")]
    pub(super) start_time: Option<ProtoTime>,
}

/// `google.protobuf.Timestamp`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ProtoTime {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(super) nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ConfigRecord {
    #[prost(message, repeated, tag = "1")]
    pub(super) update: Vec<JsonItem>,
}

/// A key and its value as JSON: an item of configuration, history or summary, which have the same fields.
#[derive(Clone, PartialEq, Message)]
pub(super) struct JsonItem {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, repeated, tag = "2")]
    pub(super) nested_key: Vec<String>,
    #[prost(string, tag = "16")]
    pub(super) value_json: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct HistoryRecord {
    #[prost(message, repeated, tag = "1")]
    pub(super) item: Vec<JsonItem>,
    #[prost(message, optional, tag = "2")]
    pub(super) step: Option<HistoryStep>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct HistoryStep {
    #[prost(int64, tag = "1")]
    pub(super) num: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SummaryRecord {
    #[prost(message, repeated, tag = "1")]
    pub(super) update: Vec<JsonItem>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MetricRecord {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) glob_name: String,
    #[prost(string, tag = "4")]
    pub(super) step_metric: String,
    #[prost(message, optional, tag = "6")]
    pub(super) options: Option<MetricOptions>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MetricOptions {
    #[prost(bool, tag = "1")]
    pub(super) step_sync: bool,
    #[prost(bool, tag = "3")]
    pub(super) defined: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FilesRecord {
    #[prost(message, repeated, tag = "1")]
    pub(super) files: Vec<FileItem>,
}

/// A file of the run's folder `files`. The policy 1 uploads it at the end of the run.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FileItem {
    #[prost(string, tag = "1")]
    pub(super) path: String,
    #[prost(int32, tag = "2")]
    pub(super) policy: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RunExitRecord {
    #[prost(int32, tag = "1")]
    pub(super) exit_code: i32,
    #[prost(int32, tag = "2")]
    pub(super) runtime: i32,
}
