//! Policies without code: a forked one acts like an interpreter of its own, and sees nothing more.

use assay_jail::default_cache_root;
use assay_model::PolicyErrorCode;
use assay_policy::{IntakeLimits, LoadOutcome, LoadRequest, Pool, Runtime, RuntimeLibrary, intake};
use assay_testkit::{OnnxModel, home};

use crate::jailed::common::{Answer, Bench, Driver};

const DECLARATION: &str = r#"
[adapter]
kind = "onnx"
model = "model.onnx"
[[adapter.inputs]]
name = "state"
arrays = [{ name = "time", size = 1 }, { name = "qpos", size = 64 }]
[[adapter.inputs]]
name = "view"
image = "images/top"
shape = [3, 2, 2]
mean = [0.5, 0.25, 0.125]
std = [0.5, 0.5, 0.25]
[adapter.action]
output = "action"
control_mode = "joint_velocity"
units = ["1", "1", "1", "1", "1", "1", "1"]
chunk_size = 2
"#;

/// Two actions: one from the numbers, one from the image.
fn model() -> Vec<u8> {
    let weights: Vec<f32> = (0_u16..65 * 7).map(|index| f32::from(index % 13) * 1e-4 - 6e-4).collect();
    let channels: Vec<f32> = (0_u8..21).map(|index| f32::from(index) * 0.1).collect();
    let model = OnnxModel::default().input("state", &[1, 65]).input("view", &[0, 3, 2, 2]).output("action", &[2, 7]);
    let model = model.constant("w", &[65, 7], &weights).node("MatMul", &["state", "w"], "sum");
    let model = model.node("Tanh", &["sum"], "first").integers("one_row", &[1, 3]);
    let model = model.constant("c", &[3, 7], &channels).node("GlobalAveragePool", &["view"], "pooled");
    let model = model.node("Reshape", &["pooled", "one_row"], "means").node("MatMul", &["means", "c"], "second");
    // Without attributes, there is no Concat; the rows are added into place.
    let model = model.constant("top", &[2, 1], &[1.0, 0.0]).constant("bottom", &[2, 1], &[0.0, 1.0]);
    let model = model.node("Mul", &["top", "first"], "upper").node("Mul", &["bottom", "second"], "lower");
    model.node("Add", &["upper", "lower"], "action").to_bytes()
}

fn order(bench: &Bench) -> LoadRequest {
    order_of(bench, DECLARATION)
}

fn order_of(bench: &Bench, declaration: &str) -> LoadRequest {
    let (source, policy) = (bench.folder.path().join("source"), bench.folder.path().join("policy"));
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("policy.toml"), declaration).unwrap();
    std::fs::write(source.join("model.onnx"), model()).unwrap();
    intake(&source, &policy, &IntakeLimits::default()).unwrap();
    bench.order(&policy, 7)
}

/// Returns the first actions of a policy.
fn act(pool: &Pool, order: &LoadRequest) -> Vec<Answer> {
    let mut driver = Driver::new(pool.prepare(order.clone()).unwrap().wait().unwrap());
    assert_eq!(driver.begin(), Answer::Ready);
    (0..3).map(|step| driver.step(step)).collect()
}

fn onnx() -> Runtime {
    let library = RuntimeLibrary::new(vec![home().join("vendor/runtimes")], default_cache_root());
    library.open(library.current(&"onnx".parse().unwrap()).unwrap()).unwrap()
}

/// The host's parser accepts TOML 1.1, Python's only 1.0.
#[test]
fn a_declaration_that_python_cannot_read_is_named() {
    let bench = Bench::new(1, |config| config.runtime = onnx());
    let order = order_of(&bench, &DECLARATION.replacen("size = 1 }", "size = 1, }", 1));
    match bench.pool().prepare(order).unwrap().wait().unwrap() {
        LoadOutcome::Failed(failure) => {
            assert_eq!(failure.code, PolicyErrorCode::Adapter, "{failure:?}");
            assert!(failure.message.contains("policy.toml is not TOML 1.0"), "{failure:?}");
        }
        LoadOutcome::Ready(_) => panic!("it was loaded"),
    }
    bench.close();
}

#[test]
fn an_adapter_acts_the_same_forked_and_executed() {
    let forked = Bench::new(1, |config| config.runtime = onnx());
    let executed = Bench::new(1, |config| (config.runtime, config.forks) = (onnx(), false));
    let (a, b) = (order(&forked), order(&executed));
    let first = act(forked.pool(), &a);
    assert_eq!(forked.pool().cannot_fork(), None);
    let actions: Vec<_> = first.iter().map(|answer| matches!(answer, Answer::Action(_))).collect();
    assert_eq!(actions, [true; 3], "{first:?}");
    assert!(first[0] != first[1] && first[0] != first[2], "a chunk has two actions: {first:?}");
    let mut driver = Driver::new(forked.pool().prepare(a.clone()).unwrap().wait().unwrap());
    assert_eq!(driver.begin(), Answer::Ready);
    let again: Vec<_> = (0..3).map(|step| driver.step(step)).collect();
    assert_eq!(again, first);
    assert_eq!(driver.counts, [2, 0, 2]);
    driver.finish();
    assert_eq!(first, act(executed.pool(), &b));
    assert_eq!(first, act(forked.pool(), &a), "the second process of a fork server is like the first");
    drop((a, b));
    forked.close();
    executed.close();
}
