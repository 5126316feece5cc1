//! Where rows play: a project with a real server, its agents and its subscribers.

pub mod alone;
pub mod cores;
pub mod corpus;
pub mod fetch;
pub mod left;
pub mod memory;
pub mod pace;
pub mod place;
pub mod subscriber;
