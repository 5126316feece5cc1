//! Wrong files: each mistake is placed and named, and none hides another.

use super::*;

/// The one complaint about an agent with this line in it.
fn complaint(line: &str) -> String {
    let errors = load_text(format!("{LEAST}{line}\n")).expect_err(line);
    assert_eq!(errors.problems.len(), 1, "{line}: {errors}");
    errors.to_string()
}

fn says(complaint: &str, parts: &[&str]) {
    for part in parts {
        assert!(complaint.contains(part), "no {part:?} in:\n{complaint}");
    }
}

#[test]
fn a_complaint_shows_the_place_the_line_and_the_right_word() {
    assert_eq!(
        complaint("modle = \"x\""),
        ".musher/project.toml:4:1: [[agent]] has no key `modle`\n\
         \x20 4 | modle = \"x\"\n\
         \x20   | ^^^^^ did you mean `model`?"
    );
}

#[test]
fn every_mistake_about_a_model_is_named_with_what_to_write() {
    const TALKER: &str = "[[agent]]\nname = \"t\"\nruntime = \"fake-model\"\n";
    for (line, parts) in [
        ("base_url = \"localhost:1\"", &["4:12", "is not the address of a service"][..]),
        ("base_url = \"ftp://a/b\"", &["http:// or https://"]),
        ("base_url = \"https://me:secret@a/\"", &["may not hold a user or a password", "header"]),
        ("base_url = \"https://a/?k=v\"", &["it must end with its path"]),
        ("wire = \"chta\"", &["is not one of plain, chat", "did you mean \"chat\"?"]),
        ("key = \"sk-1234\"", &["4:7", "may not be written in the project file", "{ env = "]),
        ("key = {}", &["4:7", "the key has no source", "{ env = "]),
        ("key = { env = \"A\", file = \"b\" }", &["4:7", "several sources"]),
        ("key = { env = \"A-B\" }", &["4:15", "is not a name for a variable"]),
        ("key = { command = \" \" }", &["this is empty"]),
        ("key = { envv = \"A\", env = \"B\" }", &["key has no key `envv`", "did you mean `env`?"]),
        ("key = 3", &["must be a table, not a number"]),
        ("headers = { \"a b\" = \"c\" }", &["4:13", "is not a name for a header"]),
        ("headers = { A = \"b\\nc\" }", &["4:17", "printable ASCII"]),
        ("headers = { A = { from = \"B C\" } }", &["is not a name for a variable"]),
        ("headers = { A = 1 }", &["must be a string or { from = \"NAME\" }"]),
        ("temperature = -0.1", &["must be a number from 0 up"]),
        ("temperature = nan", &["must be a number from 0 up"]),
        ("effort = \"\"", &["this is empty"]),
        ("max_output = 0", &["whole and 1 or more"]),
        ("window = \"big\"", &["whole and 1 or more"]),
        ("prices = \"../prices.toml\"", &["may not climb"]),
        ("prices = \"/prices.toml\"", &["absolute"]),
    ] {
        let errors = load_text(format!("{TALKER}{line}\n")).expect_err(line);
        assert_eq!(errors.problems.len(), 1, "{line}: {errors}");
        says(&errors.to_string(), parts);
    }
    says(
        &complaint("wire = \"chat\"\nkey = { env = \"A\" }"),
        &["4:8", "`wire` is for runtimes that speak to a model themselves", "leave it out"],
    );
}

#[test]
fn every_mistake_of_an_agent_is_named_with_what_to_write() {
    for (line, parts) in [
        ("colour = 1", &["has no key `colour`", "it may hold name, runtime"][..]),
        ("model = 3", &["4:9", "`model` must be a string in quotes, not a number"]),
        ("model = \"\"", &["4:9", "this is empty"]),
        ("model = \"-x\"", &["would be taken for an option"]),
        ("model = \"a\\u0000b\"", &["NUL"]),
        ("model = \"a\\nb\"", &["control character"]),
        ("args = \"x\"", &["must be a list of strings"]),
        ("args = [\"a\", 1]", &["4:14", "must be a string in quotes, not a number"]),
        ("env = [\"A\"]", &["must be a table, not a list"]),
        ("env = { \"A B\" = \"x\" }", &["4:9", "`A B` is not a name for a variable"]),
        ("env = { MUSHER_MARK = \"x\" }", &["MUSHER_ are Musher's own"]),
        ("env = { A = 1 }", &["4:13", "must be a string or { from = \"NAME\" }, not a number"]),
        ("env = { A = {} }", &["4:13", "has no `from`"]),
        ("env = { A = { form = \"B\" } }", &["4:15", "did you mean `from`?"]),
        ("env = { A = { from = \"B-C\" } }", &["4:22", "`B-C` is not a name for a variable"]),
        ("rules = { alow = [] }", &["rules has no key `alow`", "did you mean `allow`?"]),
        ("rules = { deny = [\"a\", \"read(\"] }", &["4:24", "no closing parenthesis"]),
        ("rules = { deny = [\"read(a\\nb)\"] }", &["control characters"]),
        ("max_turns = 0", &["must be a number, whole and 1 or more"]),
        ("max_turns = 1.5", &["must be a number, whole"]),
        ("max_turns = 99999999999", &["must be a number, whole"]),
        ("budget_usd = -1", &["must be a number above 0"]),
        ("budget_usd = nan", &["must be a number above 0"]),
        ("budget_usd = inf", &["must be a number above 0"]),
        ("inactivity = \"soon\"", &["`soon` is not a time", "\"15m\""]),
        ("inactivity = \"0s\"", &["leaves no room", "\"off\" for no limit"]),
        ("wall_clock = \"-5m\"", &["is not a time"]),
        ("linger = 5", &["must be a string in quotes"]),
        ("ask_default = \"alow\"", &["is not one of deny, allow", "did you mean \"allow\"?"]),
        ("system_prompt_mode = \"append\"", &["there is no system prompt"]),
        ("system_prompt = \"x\"\nsystem_prompt_mode = \"add\"", &["not one of append, replace"]),
        ("prompt = \"a\"\nprompt_file = \"b\"", &["5:15", "both `prompt` and `prompt_file`"]),
        ("prompt = \" \"", &["this is empty"]),
        ("prompt_file = \"none.md\"", &["4:15", "there is no file .musher/none.md"]),
        ("prompt_file = \"prompts\"", &["it is not a file"]),
        ("prompt_file = \"../x\"", &["may not climb"]),
        ("prompt_file = \"/etc/passwd\"", &["this path is absolute"]),
        ("[worktree]\nsetup = \"x\"", &["must be a list of strings"]),
        ("[worktree]\nsetup = [\"\"]", &["this is empty"]),
        ("[worktree]\ncopy = [\"../.env\"]", &["may not climb"]),
        ("[worktree]\ncopy = [\"/etc/passwd\"]", &["this path is absolute"]),
        ("[worktree]\nkeep = [\".\"]", &["names nothing"]),
        ("[worktree]\nkeep = [\".git/hooks\"]", &["belongs to git"]),
        ("[worktree]\nteardown = []", &["[worktree] has no key `teardown`"]),
        ("[limits]\nruns = 0", &["must be a number, whole"]),
        ("[server]\nlisten = \"0.0.0.0:80\"", &["can be reached from other machines", "SSH"]),
        ("[server]\nlisten = \"[::]:80\"", &["can be reached from other machines"]),
        ("[server]\nlisten = \"localhost:80\"", &["is not an address and a port", "127.0.0.1:0"]),
        ("[retention]\ndays = 3", &["4:2", "the project file has no key `retention`"]),
        ("[[agent]]\nname = \"coder\"\nruntime = \"script\"", &["5:8", "two agents", "line 2"]),
        ("[[agent]]\nname = \"X\"\nruntime = \"script\"", &["`X` is not a name for an agent"]),
        ("[[agent]]\nname = \"x\"", &["4:1", "[[agent]] has no `runtime`"]),
        ("[[agent]]\nname = \"x\"\nrun_time = \"script\"", &["did you mean `runtime`?"]),
        ("[[agent]]\nname = \"x\"\nruntime = \"scrpt\"", &["6:11", "did you mean \"script\"?"]),
        ("[[agent]]\nname = \"x\"\nruntime = \"zzz\"", &["use one of script, terminal, fake-code"]),
    ] {
        says(&complaint(line), parts);
    }
}

#[test]
fn an_origin_is_exactly_what_a_browser_sends() {
    for origin in [
        "*",
        "null",
        "127.0.0.1:80",
        "ftp://x",
        "http://",
        "http://x/",
        "http://x?y",
        "http://X",
        "http://u@x",
        "http://x:80",
        "https://x:443",
        "http://x:0",
        "http://x:99999",
        "http://x:08",
        "http://x:",
        "http://x:y",
        "http://*.x",
        "http://[::1",
        "http://[x]",
        "http://[::1]x",
        "http://x y",
    ] {
        let said = complaint(&format!("[server]\norigins = [\"{origin}\"]"));
        says(&said, &["is not an origin", "http://127.0.0.1:8080"]);
    }
}

#[test]
fn a_base_branch_is_a_name_that_git_takes_for_a_branch() {
    for branch in [
        "-x", "", "a b", "a..b", "a~1", "a^", "a:b", "/a", "a/", "a//b", ".a", "a.lock", "@",
        "a@{1}",
    ] {
        let errors = load_text(format!("base_branch = \"{branch}\"\n{LEAST}")).unwrap_err();
        says(&errors.to_string(), &["1:15", "is not a name for a branch"]);
    }
    good(format!("base_branch = \"feature/ü-1.2@x\"\n{LEAST}"));
}

#[test]
fn all_mistakes_are_reported_in_the_order_of_the_file() {
    let errors = load_text(
        "auto_commit = 1\n[[agent]]\nname = \"A\"\nruntime = \"scrip\"\nprompt = \"{{ stroy.id }}\"\n\
         [limits]\nrnus = 1\n[server]\nlisten = \"x\"\n",
    )
    .unwrap_err();
    let lines: Vec<usize> =
        errors.problems.iter().map(|problem| problem.place.as_ref().unwrap().line).collect();
    assert_eq!(lines, [1, 3, 4, 5, 7, 9]);
}

#[test]
fn mistakes_of_grammar_are_named_in_our_words() {
    let errors = load_text("a = \nb = hello\na = 1\nc \"x\"\n").unwrap_err().to_string();
    says(
        &errors,
        &[
            "1:5: a value is missing after `=`",
            "2:5: `hello` is no value",
            "put a text in quotes",
            "3:1: `a` is written twice",
            "4:3: this is not TOML: key with no value",
        ],
    );
}

#[test]
fn a_file_without_an_agent_is_no_project() {
    for text in ["", "agent = []", "[limits]\nruns = 1\n"] {
        says(&load_text(text).unwrap_err().to_string(), &["agent", "musher init"]);
    }
    says(&load_text("[agent]\nname = \"a\"").unwrap_err().to_string(), &["write [[agent]]"]);
    says(&load_text("agent = [1]").unwrap_err().to_string(), &["write [[agent]]"]);
    says(&load_text("[[agents]]").unwrap_err().to_string(), &["did you mean `agent`?"]);
}

#[test]
fn a_repository_without_a_project_file_is_told_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let errors = load(folder.path(), RUNTIMES).unwrap_err().to_string();
    says(&errors, &[".musher/project.toml: there is no project file", "`musher init`"]);
    fs::write(folder.path().join(".musher"), "").unwrap();
    says(&load(folder.path(), RUNTIMES).unwrap_err().to_string(), &["`musher init`"]);
}

#[test]
fn more_mistakes_than_help_are_counted() {
    let text: String = (0..1000).map(|n| format!("x{n} = 1\n")).collect();
    let errors = load_text(text + LEAST).unwrap_err();
    assert_eq!(errors.problems.len() + errors.more, 1000);
    assert!(errors.to_string().ends_with(&format!("and {} more", errors.more)));
}

#[test]
fn every_mistake_of_a_runtime_is_named_with_what_to_write() {
    let of_table = |table: &str| {
        let errors = load_text(format!("{LEAST}[[runtime]]\n{table}\n")).expect_err(table);
        assert_eq!(errors.problems.len(), 1, "{table}: {errors}");
        errors.to_string()
    };
    const GOOD: &str = "name = \"ours\"\nprogram = \"ours\"\n";
    for (line, parts) in [
        ("tested = \"1.0\"", &["[[runtime]] has no key `tested`"][..]),
        ("args = \"acp\"", &["must be a list of strings"]),
        ("env = { A = { from = \"B\" } }", &["plain values", "`variables`"]),
        ("variables = [\"A B\"]", &["`A B` is not a name for a variable"]),
        ("trusted = { arg = [\"x\"] }", &["has no key `arg`", "did you mean `args`?"]),
        ("login = \" \"", &["this is empty"]),
        ("usage = \"turns\"", &["is not one of unknown, part", "did you mean \"turn\"?"]),
        ("powers = { fly = true }", &["powers has no key `fly`"]),
        ("powers = { fork = 1 }", &["must be true or false"]),
    ] {
        says(&of_table(&format!("{GOOD}{line}")), parts);
    }
    says(&of_table("name = \"ours\""), &["has no `program`", "speaks ACP"]);
    says(&of_table("program = \"ours\""), &["has no `name`", "such as name ="]);
    says(&of_table("name = \"Ours\"\nprogram = \"ours\""), &["is no name for a runtime"]);
    says(&of_table("name = \"script\"\nprogram = \"x\""), &["that Musher brings"]);
    says(&of_table(&format!("{GOOD}[[runtime]]\n{GOOD}")), &["two runtimes called `ours`"]);
    let nearly = "[[agent]]\nname = \"a\"\nruntime = \"our\"\n[[runtime]]\n";
    let errors = load_text(format!("{nearly}{GOOD}")).expect_err(nearly);
    says(&errors.to_string(), &["there is no runtime `our`", "did you mean \"ours\"?"]);
    says(
        &complaint("effort = \"high\""),
        &["the runtime `script` takes no `effort`", "another runtime"],
    );
}
