//! tmp
use assay_jail::default_cache_root;
use assay_policy::{PoolConfig, Runtime, attacks};
fn main() {
    let tier: assay_model::Isolation = std::env::args().nth(1).unwrap().parse().unwrap();
    let only = std::env::args().nth(2);
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut config = PoolConfig::new(0, Runtime::at("vendor/python".as_ref(), &default_cache_root()).unwrap(), folder.path());
    config.isolation = tier;
    for f in attacks::fences(config.clone()).unwrap() { if !f.holds() { println!("fence {} found {:?} expected {:?}", f.name, f.found, f.expected); } }
    let mut n = 0;
    attacks::run(config, &|a| only.as_ref().is_none_or(|o| a.name.contains(o.as_str()) || &a.kind == o), &mut |a, r| {
        n += 1;
        if !r.holds(a, tier) { println!("{} / {}\n   {} (expected {}) left {:?} {}", a.kind, a.name, r.outcome, a.expected(tier), r.left, r.log); }
    }).unwrap();
    println!("{n} attacks");
}
