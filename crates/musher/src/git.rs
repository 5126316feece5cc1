//! The only caller of git: every call with a hardened environment, typed results and a time limit.
