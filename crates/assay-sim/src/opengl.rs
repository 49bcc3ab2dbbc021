//! Errors of OpenGL.

/// Rendering is not possible.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// No OpenGL context (EGL) could be created, or rendering failed.
    #[error("OpenGL: {0}; install libegl1, libegl-mesa0 and libgl1-mesa-dri")]
    Gl(String),
    /// The scenario's camera does not exist.
    #[error("{0}")]
    Camera(String),
}

/// Converts an error of OpenGL.
pub(crate) fn opengl(problem: &dyn std::fmt::Display) -> RenderError {
    RenderError::Gl(problem.to_string())
}
