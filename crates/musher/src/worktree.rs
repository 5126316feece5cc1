//! The folders in which agents work, one per story, and what becomes of them.
