//! The first project file of a repository.
