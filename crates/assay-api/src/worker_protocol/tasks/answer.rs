//! `POST /worker/v1/tasks/{lease}/answer` and `/return`: the end of a worker's work on a task.

use assay_model::{TaskAnswer, sanitise};
use axum::extract::{Request, State};
use axum::http::StatusCode;

use super::super::lease::lost;
use super::super::receive;
use super::lease::HeldTask;
use crate::disk::disk_error;
use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 2048;

pub(super) async fn handle(State(app): State<App>, held: HeldTask, request: Request) -> Result<StatusCode, ApiError> {
    let answer: TaskAnswer = receive::json(&app, &held.worker.name, request).await?;
    if !held.task.accepts(&answer) {
        let message = "this is not an answer to this task, or it contradicts itself";
        return Err(ApiError::new(ErrorCode::Unprocessable, message));
    }
    let answer = match answer {
        TaskAnswer::Broken { message } => TaskAnswer::Broken { message: one_line(&message) },
        TaskAnswer::Refused { message } => TaskAnswer::Refused { message: one_line(&message) },
        other => other,
    };
    let text = serde_json::to_vec(&answer).map_err(|error| ApiError::internal("the answer to a task", &error))?;
    let (id, worker) = (held.fence.id, &held.worker.name);
    match &answer {
        TaskAnswer::Broken { message } => tracing::error!(task.id = %id, %worker, message, "a worker failed at a task"),
        _ => tracing::info!(task.id = %id, %worker, "task answered"),
    }
    match app.tasks.finish(held.fence, &text).map_err(|error| disk_error(&app, &error))? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(lost()),
    }
}

/// Gives a task back: the worker stops, or lacks something that others may have.
pub(super) async fn give_back(State(app): State<App>, held: HeldTask) -> Result<StatusCode, ApiError> {
    match app.tasks.give_back(held.fence).map_err(|error| disk_error(&app, &error))? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(lost()),
    }
}

/// Returns a message as the log and clients may have it.
fn one_line(message: &str) -> String {
    sanitise(message, MAX_MESSAGE_BYTES).split_whitespace().collect::<Vec<_>>().join(" ")
}
