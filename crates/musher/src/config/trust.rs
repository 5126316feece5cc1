//! What a project file may do takes effect only after a person has agreed to it.
