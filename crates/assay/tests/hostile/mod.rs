//! Broken and hostile scenarios: each is the cart-pole with one change, and the expected fault.

#![expect(clippy::unwrap_used, reason = "tests")]

/// A file of `cartpole_keepin`, the old and new text, the file at fault, its key, and words of the problem.
pub(crate) type Case = (&'static str, &'static str, &'static str, &'static str, Option<&'static str>, &'static str);

pub(crate) const SCENE: &str = "scene.xml";
pub(crate) const TOML: &str = "scenario.toml";
pub(crate) const WORLD: &str = "<worldbody>";
const ASSET: &str = "</asset>";

/// Two bodies instead of one.
const CROWD: &str =
    "[[placement]]\nbodies = [\"cart\", \"pole\"]\nx = [0, 0.1]\ny = [0, 0.1]\nspacing = 5\n\n[[observation]]";
/// An image from a camera that does not exist.
const BLIND: &str = "[[observation]]\nname = \"images/a\"\nkind = \"image\"\ncamera = \"nowhere\"\n\n[[observation]]";

pub(crate) const CASES: &[Case] = &[
    // Files outside of the scenario.
    (SCENE, WORLD, "<include file='../../../etc/passwd'/><worldbody>", SCENE, None, "passwd"),
    (SCENE, WORLD, "<include file='/etc/passwd'/><worldbody>", SCENE, None, "passwd"),
    (SCENE, WORLD, "<include file='scene.xml'/><worldbody>", SCENE, None, "include"),
    (SCENE, ASSET, "<mesh name='m' file='/etc/passwd'/></asset>", SCENE, None, "/etc/passwd"),
    (SCENE, ASSET, "<mesh name='m' file='../../../proc/self/maps.obj'/></asset>", SCENE, None, "maps"),
    (SCENE, ASSET, "<texture name='t' type='2d' file='/dev/zero'/></asset>", SCENE, None, ""),
    (SCENE, ASSET, "<hfield name='h' file='../other.png' size='1 1 1 1'/></asset>", SCENE, None, "other.png"),
    (SCENE, ASSET, "<mesh name='m' file='none.stl'/></asset>", SCENE, None, "none.stl"),
    // Too much of something.
    (SCENE, ASSET, "<hfield name='h' nrow='60000' ncol='60000' size='1 1 1 1'/></asset>", SCENE, None, "smaller"),
    (
        SCENE,
        WORLD,
        "<worldbody><replicate count='100000000' offset='1 0 0'><geom size='0.1'/></replicate>",
        SCENE,
        None,
        "make the world smaller",
    ),
    (
        SCENE,
        WORLD,
        "<worldbody><replicate count='5000' offset='1 0 0'><geom size='0.1' contype='0' conaffinity='0'/></replicate>",
        SCENE,
        None,
        "more than the 4000 allowed",
    ),
    (SCENE, "cone=\"elliptic\"", "cone=\"elliptic\" iterations=\"2000000000\"", SCENE, None, "200 allowed"),
    (SCENE, "<worldbody>", "<size memory='4G'/><worldbody>", SCENE, None, ""),
    // Invalid numbers.
    (SCENE, "pos=\"0 0 0.93\"", "pos=\"nan 0 0.93\"", SCENE, None, "not a finite number"),
    (SCENE, "timestep=\"0.002\"", "timestep=\"0\"", TOML, Some("world.timestep_s"), "make them the same"),
    (SCENE, "timestep=\"0.002\"", "timestep=\"1e9\"", TOML, Some("world.timestep_s"), "make them the same"),
    (
        SCENE,
        "cone=\"elliptic\"",
        "cone=\"elliptic\" gravity=\"0 0 nan\"",
        SCENE,
        None,
        "gravity or wind is not a finite",
    ),
    (SCENE, "cone=\"elliptic\"", "cone=\"elliptic\" ls_iterations=\"2000000000\"", SCENE, None, "200 allowed"),
    (
        SCENE,
        WORLD,
        "<worldbody><body><freejoint/><geom size='.1' mass='inf'/></body>",
        SCENE,
        None,
        "not a finite number",
    ),
    (SCENE, WORLD, "<worldbody><geom name='x' size='-1'/>", SCENE, None, "must be positive"),
    (
        SCENE,
        WORLD,
        "<worldbody><body><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 100'/></body>",
        SCENE,
        None,
        "A + B >= C",
    ),
    // Memory and depth.
    (SCENE, "<worldbody>", "<size nuser_body='1000000000'/><worldbody>", SCENE, None, "make the world smaller"),
    (SCENE, ASSET, "<mesh name='m' builtin='supersphere' params='20000 1 1'/></asset>", SCENE, None, "smaller"),
    (
        SCENE,
        ASSET,
        "<texture name='t' type='2d' builtin='flat' width='100000' height='100000'/></asset>",
        SCENE,
        None,
        "memory for texture",
    ),
    (
        SCENE,
        WORLD,
        "<worldbody><flexcomp type='grid' count='2000 2000 2000' spacing='1 1 1' dim='3' mass='1' name='f'/>",
        SCENE,
        None,
        "make the world smaller",
    ),
    // Invalid MJCF.
    (SCENE, "cone=\"elliptic\"", "cone=\"elliptic\" speed=\"7\"", SCENE, None, "unrecognized attribute: 'speed'"),
    (SCENE, WORLD, "<worldbody><body name='cart'/>", SCENE, None, "repeated name 'cart'"),
    (SCENE, WORLD, "<worldbody><body mocap='true'><freejoint/><geom size='.1'/></body>", SCENE, None, "mocap body"),
    (SCENE, WORLD, "<keyframe><key qpos='1 2 3'/></keyframe><worldbody>", SCENE, None, "invalid qpos size"),
    (SCENE, WORLD, "<worldbody><geom type='mesh' mesh='nowhere'/>", SCENE, None, "mesh 'nowhere' not found"),
    (SCENE, "<worldbody>", "<worldbody", SCENE, None, ""),
    (SCENE, "<worldbody>", "<extension><plugin plugin='mujoco.pid'/></extension><worldbody>", SCENE, None, "plugin"),
    (SCENE, "name=\"cart\" pos", "name=\"wagon\" pos", TOML, Some("set.target or placement.bodies"), "no body"),
    // Mistakes in scenario.toml.
    (TOML, "difficulty = 1", "difficulty = 9", TOML, Some("difficulty"), "1 to 5"),
    (TOML, "difficulty = 1", "dificulty = 1", TOML, None, "dificulty"),
    (TOML, "scene = \"scene.xml\"", "scene = \"../scene.xml\"", TOML, Some("world.scene"), "inside"),
    (TOML, "scene = \"scene.xml\"", "scene = \"/etc/passwd\"", TOML, Some("world.scene"), "inside"),
    (TOML, "[\"slide_motor\"]", "[\"slide_moter\"]", TOML, Some("control.actuators"), "slide_moter"),
    (TOML, "always (end_stop_force <= limit)", "always (force <= limit)", TOML, Some("clause[1].formula"), "force"),
    (TOML, "value = \"side * lean\"", "value = \"lean * 1e308 * 1e308\"", TOML, Some("set"), "gives inf"),
    (TOML, "difficulty = 1", "difficulty = 1\ndifficulty = 2", TOML, None, "duplicate key"),
    (TOML, "id = \"cartpole_keepin\"", "id = \"../../etc\"", TOML, Some("id"), "use a-z"),
    (
        TOML,
        "[groups]",
        "[groups]\nnothing = [\"*a*a*a*a*a*a*a*b\"]",
        TOML,
        Some("groups.nothing"),
        "no geom or body matches",
    ),
    (TOML, "[[observation]]", CROWD, TOML, Some("placement"), "no free place"),
    (TOML, "[[observation]]", BLIND, TOML, Some("observation \"images/a\""), "camera \"nowhere\""),
    (TOML, "value = \"side * lean\"", "value = 1e200", SCENE, None, "unstable"),
];

/// Returns the files of the case, by name.
pub(crate) fn files((file, old, new, ..): &Case) -> Vec<(&'static str, String)> {
    let from = assay_testkit::home().join("scenarios/cartpole_keepin");
    let read = |part: &'static str| {
        let text = std::fs::read_to_string(from.join(part)).unwrap();
        assert!(part != *file || text.contains(old), "{part} does not hold {old:?}");
        (part, if part == *file { text.replacen(old, new, 1) } else { text })
    };
    [TOML, SCENE, "README.md"].map(read).to_vec()
}
