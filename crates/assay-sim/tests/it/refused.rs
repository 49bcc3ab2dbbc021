//! Worlds that can't be built, and what their authors are told.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use crate::common::Scene;

/// Checks that the scene is refused in these words.
fn refused(scene: &Scene, words: &[&str]) {
    let error = scene.build().err().unwrap_or_else(|| panic!("was built, but should say {words:?}"));
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    let message = format!("{error}: {source}");
    for word in words {
        assert!(message.contains(word), "should say {word:?}, but says: {message}");
    }
}

#[test]
fn the_tiny_scene_itself_is_fine() {
    Scene::with("<!--more-->", "").build().unwrap().simulation(1).unwrap().step().unwrap();
}

#[test]
fn wrong_scenes() {
    let many = |count: usize| (0..count).map(|i| format!("<body name='b{i}' pos='{i} 0 0'/>")).collect::<String>();
    let geoms: String =
        (0..4001).map(|i| format!("<geom size='0.01' pos='{i} 0 0' contype='0' conaffinity='0'/>")).collect();
    let cases: Vec<(&str, String, &[&str])> = vec![
        ("<mujoco>", "<mujoko>".into(), &["scene.xml"]),
        ("</worldbody>", "".into(), &["scene.xml"]),
        ("name='cart' pos='0 0 1'", "name='cart' pos='nan 0 1'".into(), &["scene"]),
        (
            "name='slide' type='slide'",
            "name='slide' type='slide' ref='nan'".into(),
            &["scene: a joint's reference position is not a finite"],
        ),
        ("name='slide' type='slide'", "name='slide' type='slide' damping='nan'".into(), &["scene: a joint's damping"]),
        ("mass='1'", "mass='1' friction='nan'".into(), &["scene: a geom's friction is not a finite number"]),
        ("size='0.1 0.1 0.1'", "size='0.1 nan 0.1'".into(), &["scene"]),
        ("gear='1'", "gear='nan'".into(), &["scene: an actuator's gear"]),
        ("timestep='0.002'", "timestep='0.002' gravity='0 0 nan'".into(), &["scene: gravity"]),
        ("timestep='0.002'", "timestep='nan'".into(), &["world.timestep_s: is 0.002 s"]),
        ("<!--more-->", many(1001), &["scene: bodies is 1003, more than the 1000 allowed"]),
        ("<!--more-->", geoms, &["scene: geoms is 4002, more than the 4000 allowed"]),
        (
            "timestep='0.002'",
            "timestep='0.005'".into(),
            &["world.timestep_s: is 0.002 s", "0.005 s", "make them the same"],
        ),
        ("timestep='0.002'", "timestep='0.002' iterations='201'".into(), &["solver iterations is 201", "200 allowed"]),
        ("<!--more-->", "<geom type='mesh' mesh='none'/>".into(), &["scene.xml", "none"]),
        ("<!--more-->", "<include file='../../../etc/passwd'/>".into(), &["scene.xml"]),
        ("name='push'", "name='pull'".into(), &["control.actuators", "no actuator \"push\""]),
        ("name='overview'", "name='view'".into(), &["camera.name", "no camera \"overview\""]),
        (
            "<joint name='slide' type='slide' axis='1 0 0'/>",
            "<joint name='slide' type='ball'/>".into(),
            &["observation \"slide\"", "hinge or slide joint \"slide\""],
        ),
        (
            "<geom name='cart'",
            "<geom name='cart' contype='0' conaffinity='0'".into(),
            &["groups.cart", "no geom or body matches"],
        ),
        ("<body name='cart'", "<body name='wagon'".into(), &["no body \"cart\""]),
    ];
    for (old, new, words) in cases {
        refused(&Scene::with(old, &new), words);
    }
}

#[test]
fn wrong_facts() {
    let robot = "[[robot]]\nname = \"arm\"\nmodel = \"panda\"\nmount = \"MOUNT\"\nqpos = [0, 0, 0, -1.5, 0, 1.5, 0]\n\n[groups]";
    let cases: Vec<(&str, String, &[&str])> = vec![
        ("[groups]", robot.replace("MOUNT", "nowhere"), &["robot \"arm\"", "no site \"nowhere\" in the scene"]),
        (
            "timestep_s = 0.002",
            "timestep_s = 0.001".into(),
            &["world.timestep_s: is 0.001 s", "0.002 s", "make them the same"],
        ),
        ("actuators = [\"push\"]", "actuators = [\"pull\"]".into(), &["control.actuators", "no actuator \"pull\""]),
        ("[camera]\nname = \"overview\"", "[camera]\nname = \"side\"".into(), &["camera.name", "no camera \"side\""]),
        ("of = \"body:cart\"", "of = \"site:tool\"".into(), &["signals.height", "no site \"tool\""]),
        ("of = \"body:cart\"", "of = \"geom:tool\"".into(), &["signals.height", "no geom \"tool\""]),
        ("joints = [\"slide\"]", "joints = [\"hinge\"]".into(), &["observation \"slide\"", "no joint \"hinge\""]),
        ("cart = [\"cart\"]", "cart = [\"wagon*\"]".into(), &["groups.cart", "no geom or body matches"]),
        ("target = \"body:cart.mass\"", "target = \"body:wagon.mass\"".into(), &["set.target", "no body \"wagon\""]),
        ("target = \"body:cart.mass\"", "target = \"joint:cart.qpos\"".into(), &["set.target", "no joint \"cart\""]),
        (
            "value = \"mass\"",
            "value = \"-mass\"".into(),
            &["set: the mass of body \"cart\" can't be -", "correct the value"],
        ),
        ("target = \"body:cart.mass\"", "target = \"geom:cart.size.0\"".into(), &[]),
        (
            "target = \"body:cart.mass\"\nvalue = \"mass\"",
            "target = \"geom:cart.size.0\"\nvalue = 0".into(),
            &["a size of geom \"cart\" can't be 0"],
        ),
        (
            "target = \"body:cart.mass\"\nvalue = \"mass\"",
            "target = \"joint:slide.damping\"\nvalue = -1".into(),
            &["the damping of joint \"slide\" can't be -1"],
        ),
        ("value = \"mass\"", "value = \"1 / (mass - mass)\"".into(), &["set: \"1 / (mass - mass)\": gives inf"]),
    ];
    for (old, new, words) in cases {
        let scene = Scene::told(old, &new);
        if words.is_empty() {
            scene.build().unwrap();
        } else {
            refused(&scene, words);
        }
    }
}

#[test]
fn a_start_that_is_no_start() {
    let value = "target = \"joint:slide.qvel\"\nvalue = 1e200";
    refused(
        &Scene::told("target = \"body:cart.mass\"\nvalue = \"mass\"", value),
        &["the start state is unstable", "BADQVEL"],
    );
}
