//! Where rows play: a project with a real server, its agents and its subscribers.

pub mod alone;
pub mod cold;
pub mod conductor;
pub mod cores;
pub mod corpus;
pub mod crowd;
pub mod fetch;
pub mod heard;
pub mod left;
pub mod memory;
pub mod pace;
pub mod past;
pub mod place;
pub mod pool;
pub mod processor;
pub mod subscriber;
