//! The models of a job as files of this machine.

use std::io::Write;

use assay_model::{DeclaredModel, JobId, ModelUploadId, Sha256Digest};

use assay_store::Claim;

use super::service_run::ServiceRun;
use crate::SessionError;
use crate::episode::tests::script::ScriptedHost;

#[test]
fn a_jobs_models_are_resolved_in_its_account() {
    let run = ServiceRun::new(1, 1, |_| ScriptedHost::new([]));
    let (worker, mut claim) = (run.outside.worker(), run.outside.claim().unwrap());
    let (JobId(id), sha256) = (run.id, Sha256Digest::of("weights"));
    let mut file = worker.options.models.open_partial(&claim.account, ModelUploadId(id), 0).unwrap().unwrap();
    file.write_all(b"weights").unwrap();
    let declared = |sha256| DeclaredModel { path: "nets/model.onnx".into(), sha256, size_bytes: Some(7) };
    claim.header.models = vec![declared(sha256)];
    let models = |claim: &Claim| worker.runner.dispatch.models(&claim.assignment(&claim.header.job_seeds(), 1));
    assert!(matches!(models(&claim), Err(SessionError::Outage(_))), "it is not complete");
    worker.options.models.finish(&claim.account, ModelUploadId(id), sha256).unwrap();
    let found = models(&claim).unwrap();
    assert_eq!(found[0].path, "nets/model.onnx");
    assert_eq!(std::fs::read_to_string(&found[0].host).unwrap(), "weights");
    claim.account = "other".parse().unwrap();
    assert!(matches!(models(&claim), Err(SessionError::Outage(_))), "it is another account's");
}
