//! `GET /scenarios`: the curated ones, without their long descriptions.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::present;
use crate::state::App;

pub(super) async fn handle(State(app): State<App>) -> Json<Value> {
    let scenarios: Vec<Value> = app.catalog.list().iter().map(|card| present::scenario(card, false)).collect();
    Json(json!({ "scenarios": scenarios }))
}
