//! What a project file says, read once from text to resolved values.
