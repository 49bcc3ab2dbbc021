pub(super) mod append;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;
pub(super) mod model_id;
pub(super) mod permission;
pub(super) mod view;
