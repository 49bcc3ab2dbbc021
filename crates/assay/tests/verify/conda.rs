//! A runtime from a prefix as conda makes it: the interpreter, its libraries and those of the packages in one folder,
//! which packages find because the interpreter names it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_testkit::{Assay, home};

use crate::verify::{assay, report, verify};

/// Needs numpy, a package whose compiled part needs a library of the prefix, which loads another one by its name.
const POLICY: &str = "# /// script\n# dependencies = [\"tiny==1.2\"]\n# ///\nimport sys\n\nimport numpy as np\n\
                      import tiny\n\nassert tiny.force() == 7 and sys.prefix.endswith('/py'), sys.prefix\n\n\n\
                      def policy(observation):\n    return np.zeros(1)\n";
const TINY: &str = "import ctypes\nimport os\n\n\
                    force = ctypes.CDLL(os.path.join(os.path.dirname(__file__), '_tiny.so')).tiny\n";

#[test]
fn a_conda_prefix_becomes_a_runtime_without_what_it_is_made_of() {
    let assay = assay();
    let runtimes = assay.path("runtimes");
    let assay = assay.with_variable("ASSAY_RUNTIMES", runtimes.to_str().unwrap());
    let prefix = prefix(&assay);
    let alone = Command::new(prefix.join("bin/python3")).args(["-I", "-c", "import sys; print(sys.prefix)"]).output();
    let printed = String::from_utf8(alone.unwrap().stdout).unwrap();
    assert_eq!(Path::new(printed.trim()), prefix, "the interpreter is that of the prefix");
    let added = assay.run(&["runtime", "add", "robot", "--from-venv", prefix.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{}{}", added.stdout, added.stderr);
    assert!(!added.stdout.contains("cannot be imported") && !added.stderr.contains("not found"), "{}", added.stderr);

    // Nothing of the prefix is needed any more.
    fs::remove_dir_all(&prefix).unwrap();
    let policy = assay.write("tiny_policy.py", POLICY);
    let run = verify(&assay, &policy, &["--episodes", "1", "--record", "none", "--json"]);
    let report = report(&run);
    assert_eq!(report.episode_details[0].error, None, "{}", run.stderr);
    assert_eq!(report.fingerprint.unwrap().runtime.unwrap().name.as_str(), "robot");
    let libraries = runtimes.join("robot/lib/x86_64-linux-gnu");
    assert!(libraries.join("libforce.so.1").is_file() && libraries.join("libpull.so.1").is_file());
    assert!(!libraries.join("libunused.so.1").exists() && !runtimes.join("robot/py/conda-meta").exists());
}

/// Makes a prefix from the interpreter of the runtime `base`.
fn prefix(assay: &Assay) -> PathBuf {
    let prefix = assay.path("envs/robot");
    for folder in ["bin", "conda-meta"] {
        fs::create_dir_all(prefix.join(folder)).unwrap();
    }
    let (prefix, base) = (prefix.canonicalize().unwrap(), home().join("vendor/runtimes/base"));
    let copied = Command::new("cp").arg("-r").arg(base.join("py/lib")).arg(&prefix).status().unwrap();
    assert!(copied.success());
    // Debian's interpreter looks for packages here.
    symlink(".", prefix.join("local")).unwrap();
    let names = fs::read_dir(prefix.join("lib")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names = names.map(|name| name.into_string().unwrap());
    let version = names.find(|name| name.starts_with("python3")).unwrap();
    interpreter(&prefix, &base, &version);
    symlink(&version, prefix.join("bin/python3")).unwrap();

    let lib = prefix.join("lib");
    library(&lib.join("libpull.so.1"), "int pull(void) { return 7; }", &[]);
    library(&lib.join("libunused.so.1"), "int unused(void) { return 0; }", &[]);
    let loads = "#include <dlfcn.h>\nint force(void) {\n    void *pull = dlopen(\"libpull.so.1\", RTLD_NOW);\n    \
                 return pull ? ((int (*)(void))dlsym(pull, \"pull\"))() : 0;\n}";
    library(&lib.join("libforce.so.1"), loads, &[]);
    let packages = lib.join(&version).join("site-packages");
    fs::create_dir(packages.join("tiny")).unwrap();
    fs::write(packages.join("tiny/__init__.py"), TINY).unwrap();
    let calls = "int force(void);\nint tiny(void) { return force(); }";
    library(&packages.join("tiny/_tiny.so"), calls, &[lib.join("libforce.so.1").to_str().unwrap()]);
    let about = packages.join("tiny-1.2.dist-info");
    fs::create_dir(&about).unwrap();
    fs::write(about.join("METADATA"), "Metadata-Version: 2.1\nName: tiny\nVersion: 1.2\n").unwrap();
    fs::write(about.join("RECORD"), "tiny/__init__.py,,\ntiny/_tiny.so,,\n").unwrap();
    fs::write(prefix.join("conda-meta/history"), "==> 2026-11-26 <==\n").unwrap();
    prefix
}

/// Copies the interpreter, with its own library where it has one, which it finds beside itself.
fn interpreter(prefix: &Path, base: &Path, version: &str) {
    let shared = format!("lib{version}.so.1.0");
    let (from, to) = (base.join("lib64").join(&shared), prefix.join("lib").join(&shared));
    let program = prefix.join("bin").join(version);
    if !from.exists() {
        fs::copy(base.join("py/bin/python3"), program).unwrap();
        return;
    }
    fs::copy(from, &to).unwrap();
    let main =
        "int Py_BytesMain(int, char **);\nint main(int count, char **words) { return Py_BytesMain(count, words); }";
    let search = ["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/../lib"];
    compile(&program, main, &[&search[..], &[to.to_str().unwrap()]].concat());
}

/// Compiles a library that says where nothing of what it needs is.
fn library(target: &Path, source: &str, needs: &[&str]) {
    let name = format!("-Wl,-soname,{}", target.file_name().unwrap().to_str().unwrap());
    compile(target, source, &[&["-shared", "-fPIC", &name], needs].concat());
}

fn compile(target: &Path, source: &str, options: &[&str]) {
    let file = target.with_extension("source.c");
    fs::write(&file, source).unwrap();
    let done = Command::new("cc").arg(&file).args(options).arg("-o").arg(target).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fs::remove_file(file).unwrap();
}
