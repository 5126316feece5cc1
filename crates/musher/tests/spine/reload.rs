//! The project file read again under a running server: for what starts, and only once a person has agreed.

use serde_json::{Value as Json, json};

use crate::rig::Project;

const FILE: &str = "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = '.musher/work.toml'\n\
    [limits]\nruns = 1\n";
const WORK: &str = "[[step]]\nrun = 'true'\nask_first = true\n";

fn project() -> Project {
    let project = Project::new(FILE);
    std::fs::write(project.repo().join(".musher/work.toml"), WORK).unwrap();
    project
}

fn write(project: &Project, text: &str) {
    std::fs::write(project.repo().join(".musher/project.toml"), text).unwrap();
}

#[tokio::test]
async fn a_changed_limit_takes_effect_and_an_untrusted_change_is_refused_with_its_fix() {
    let project = project();
    let server = project.serve().await;
    let file = server.get("/project/file").await;
    assert_eq!((&file["text"], &file["trusted"]), (&json!(FILE), &json!(true)), "{file:#}");
    assert_eq!((&file["in_force"], &file["problems"]), (&json!(true), &json!([])), "{file:#}");
    let (_, first) = server.begin("").await;
    let ask = server.until_ask(&first).await;
    let (_, second) = server.begin("").await;
    assert_eq!(server.run(&second).await["phase"], "queued");

    write(&project, &FILE.replace("runs = 1", "runs = 2"));
    let file = server.get("/project/file").await;
    assert_eq!((&file["trusted"], &file["in_force"]), (&json!(true), &json!(false)), "{file:#}");
    assert_eq!(server.run(&second).await["phase"], "queued", "nothing is read by itself");
    let reply = server.post("/project/reload", &json!({})).await;
    assert_eq!((&reply["hash"], &reply["after_restart"]), (&file["hash"], &json!([])));
    server.until_ask(&second).await;
    assert_eq!(server.get("/project").await["limits"]["runs"], 2);
    assert_eq!(server.get("/project/file").await["in_force"], true);

    write(&project, &FILE.replace("command", "rules = { allow = ['execute'] }\ncommand"));
    let (status, refused) = server.try_post("/project/reload", &json!({})).await.unwrap();
    assert_eq!((status, &refused["code"]), (409, &json!("untrusted")), "{refused:#}");
    assert!(refused["detail"].as_str().unwrap().contains("+ agent coder: allow execute"));
    assert!(refused["hint"].as_str().unwrap().contains("musher trust"), "{refused:#}");
    assert_eq!(server.get("/project/file").await["trusted"], false);
    assert_eq!(server.get("/project").await["limits"]["runs"], 2, "what was in force still is");

    write(&project, "[[agent]]\nname = 'coder'\nruntme = 'script'\n");
    let (status, refused) = server.try_post("/project/reload", &json!({})).await.unwrap();
    assert_eq!((status, &refused["code"]), (422, &json!("project_file_broken")), "{refused:#}");
    let file = server.get("/project/file").await;
    let problem = &file["problems"][0];
    assert_eq!((&problem["line"], &problem["column"]), (&json!(3), &json!(1)), "{file:#}");
    assert!(problem["help"].as_str().unwrap().contains("runtime"), "{file:#}");

    // What runs goes on as it began.
    let path = format!("/runs/{first}/asks/{ask}/answer");
    server.post(&path, &json!({ "answer": { "decision": "allow" } })).await;
    assert_eq!(server.until_over(&first).await["outcome"], "completed");
}

#[tokio::test]
async fn trust_lets_a_running_server_read_the_file_again_and_says_what_needs_a_new_one() {
    let project = project();
    let server = project.serve().await;
    let allowed = FILE.replace("command", "rules = { allow = ['execute'] }\ncommand");
    write(&project, &allowed);
    let said = project.cli(&["trust"]).await;
    assert!(said.contains("has read the project file again."), "{said}");
    let (_, run) = server.begin("").await;
    assert_eq!(server.until_over(&run).await["open_asks"], 0, "the new rule counts");
    let asked = project.events(&run).into_iter().any(|event| {
        matches!(event.kind, musher_core::EventKind::AskOpened { settled: false, .. })
    });
    assert!(!asked);

    write(
        &project,
        &format!("base_branch = 'main'\n{allowed}[server]\norigins = ['http://127.0.0.1:9']\n"),
    );
    let said = project.cli(&["trust", "--json"]).await;
    let said: Json = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["trusted"], &said["reloaded"]), (&json!(true), &json!(true)), "{said:#}");
    let said = project.cli(&["trust"]).await;
    assert!(said.contains("but for base_branch, server.origins: restart it"), "{said}");
    assert_eq!(server.get("/project/file").await["in_force"], false);
}
