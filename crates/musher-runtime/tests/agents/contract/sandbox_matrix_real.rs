//! The whole contract of every runtime in a sandbox, in both profiles: `scripts/prove sandbox`.

macro_rules! programs {
    ($($module:ident: $profile:ident, $server:ident, $rig:ident $(, $agent:ident)?;)*) => {$(
        mod $module {
            use musher_testkit::model::ModelServer;

            use crate::contract::sandbox::Confined;
            use crate::rig::$rig;

            async fn subject() -> Confined<$rig> {
                let server = ModelServer::$server().await.unwrap();
                Confined::$profile($rig::on($(crate::rig::AcpAgent::$agent,)? server))
            }

            crate::contract::every_clause_in_a_sandbox!();
        }
    )*};
}

programs! {
    claude_in_workspace: workspace, start, ClaudeRig;
    claude_in_strict: strict, start_beside, ClaudeRig;
    codex_in_workspace: workspace, start, CodexRig;
    codex_in_strict: strict, start_beside, CodexRig;
    gemini_cli_in_workspace: workspace, start, AcpRig, GeminiCli;
    gemini_cli_in_strict: strict, start_beside, AcpRig, GeminiCli;
    opencode_in_workspace: workspace, start, AcpRig, OpenCode;
    opencode_in_strict: strict, start_beside, AcpRig, OpenCode;
    codex_acp_in_workspace: workspace, start, AcpRig, CodexAcp;
    codex_acp_in_strict: strict, start_beside, AcpRig, CodexAcp;
    copilot_in_workspace: workspace, start, AcpRig, Copilot;
    copilot_in_strict: strict, start_beside, AcpRig, Copilot;
    qwen_in_workspace: workspace, start, AcpRig, Qwen;
    qwen_in_strict: strict, start_beside, AcpRig, Qwen;
    claude_acp_in_workspace: workspace, start, AcpRig, ClaudeAcp;
    claude_acp_in_strict: strict, start_beside, AcpRig, ClaudeAcp;
}

/// What speaks to its model itself, or to none, has no program whose network would matter; its commands do.
macro_rules! own_tools {
    ($($module:ident: $profile:ident, $subject:expr, $kind:ty;)*) => {$(
        mod $module {
            use crate::contract::sandbox::Confined;

            async fn subject() -> Confined<$kind> {
                Confined::$profile($subject.await)
            }

            crate::contract::every_clause_in_a_sandbox!();
        }
    )*};
}

own_tools! {
    responses_in_workspace: workspace, crate::rig::ModelRig::new(crate::rig::Wire::Responses), crate::rig::ModelRig;
    responses_in_strict: strict, crate::rig::ModelRig::new(crate::rig::Wire::Responses), crate::rig::ModelRig;
    chat_in_strict: strict, crate::rig::ModelRig::new(crate::rig::Wire::Chat), crate::rig::ModelRig;
    messages_in_strict: strict, crate::rig::ModelRig::new(crate::rig::Wire::Messages), crate::rig::ModelRig;
    generate_in_strict: strict, crate::rig::ModelRig::new(crate::rig::Wire::Generate), crate::rig::ModelRig;
    script_in_workspace: workspace, crate::contract::script::subject(), crate::contract::script::Scripted;
    script_in_strict: strict, crate::contract::script::subject(), crate::contract::script::Scripted;
}
