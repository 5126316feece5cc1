//! Agents whose tools we carry out ourselves have the story of their run without a bridge.

use std::sync::Arc;

use musher::mcp::run::RunStory;
use musher_core::{EventKind, ToolPhase};
use musher_runtime::anthropic::Anthropic;
use musher_runtime::gemini::Gemini;
use musher_runtime::openai::OpenAi;
use musher_runtime::{Environment, Runtime, SessionOutput, SessionSpec};
use musher_testkit::model::ModelServer;
use serde_json::json;

#[tokio::test]
async fn every_model_over_its_own_api_reads_its_story_in_process_and_asks_nobody() {
    let server = ModelServer::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    std::fs::write(&script, json!([{ "tools": [{ "name": "story" }] }]).to_string()).unwrap();
    let runtimes: [Box<dyn Runtime>; 3] =
        [Box::new(OpenAi::default()), Box::new(Anthropic::default()), Box::new(Gemini::default())];
    for runtime in runtimes {
        let environment = Environment::of_this_process()
            .set("OPENAI_BASE_URL", server.openai_url())
            .set("OPENAI_API_KEY", "dummy-key-for-tests")
            .set("ANTHROPIC_BASE_URL", server.url())
            .set("ANTHROPIC_API_KEY", "dummy-key-for-tests")
            .set("GOOGLE_GEMINI_BASE_URL", server.url())
            .set("GEMINI_API_KEY", "dummy-key-for-tests");
        let prompt = format!("[[scn:script file={}]] go", script.display());
        let mut spec = SessionSpec::new(prompt, folder.path(), environment);
        spec.tools = Some(Arc::new(RunStory {
            run: Some("r1".into()),
            story: Some("s1".into()),
            agent: Some("coder".into()),
            title: "A story".into(),
            text: "What is wanted.".into(),
        }));
        let mut session = runtime.start(spec);
        let mut told = None;
        while let Some(output) = session.next().await {
            let SessionOutput::Event(event) = output else { continue };
            match event.kind {
                EventKind::Tool(update) if update.phase == ToolPhase::Completed => {
                    told = update.output;
                }
                EventKind::AskOpened { settled: false, body, .. } => panic!("{body:?}"),
                _ => {}
            }
        }
        let told = told.unwrap_or_else(|| panic!("{} told nothing", runtime.name()));
        assert!(told.text.contains("What is wanted."), "{told:?}");
    }
}
