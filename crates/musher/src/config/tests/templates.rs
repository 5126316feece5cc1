//! Templates: checked when the file is read, filled in as they are written.

use super::*;

/// The complaints about a project whose prompt is written so.
fn complaints(prompt: &str) -> Vec<String> {
    match load_text(format!("{LEAST}prompt = {prompt}\n")) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.problems.iter().map(ToString::to_string).collect(),
    }
}

fn filled(prompt: &str) -> String {
    let project = good(format!("{LEAST}role = \"r\"\nprompt = '''{prompt}'''\n"));
    project.agents[0].render(&CONTEXT).unwrap().prompt
}

#[test]
fn the_texts_of_musher_itself_are_right() {
    for text in [DEFAULT_PROMPT, DEFAULT_CONTINUE_PROMPT] {
        assert_eq!(
            Template::check(text).map_err(|faults| format!("{faults:?}")).unwrap().as_str(),
            text
        );
    }
    let rendered = good(LEAST).agents[0].render(&CONTEXT).unwrap();
    for part in ["Fix <it> & \"more\"", "All of it.", "branch musher/s-1/1"] {
        assert!(rendered.prompt.contains(part), "{}", rendered.prompt);
    }
    assert_eq!(rendered.continue_prompt, "Continue where you left off.");
    assert_eq!((rendered.system_prompt, rendered.args), (None, Vec::<String>::new()));
}

#[test]
fn every_variable_is_there_and_nothing_is_escaped() {
    let all: String = template::VARIABLES.iter().map(|name| format!("{{{{ {name} }}}}|")).collect();
    assert_eq!(
        filled(&all),
        "s-1|Fix <it> & \"more\"|All of it.|/w|musher/s-1/1|main|coder|r||",
        "an unset model is empty"
    );
}

#[test]
fn branches_filters_comments_and_raw_text_work() {
    for (prompt, text) in [
        ("{% if story.text %}a{% elif branch %}b{% else %}c{% endif %}", "a"),
        ("{% if agent.model %}a{% else %}b{% endif %}", "b"),
        ("{% if \"Fix\" in story.title and not agent.model %}a{% endif %}", "a"),
        ("{{ story.title | lower | capitalize }}", "Fix <it> & \"more\""),
        ("{{ story.text | lines | first | upper | trim }}", "ALL OF IT."),
        ("{{ branch | length }} {{ agent.name ~ '-' ~ branch | title | last }}", "12 coder-1"),
        ("{{ agent.model | default(\"none\", true) }}", "none"),
        ("{# a word to people #}x", "x"),
        ("{% raw %}${{ matrix.os }}{% endraw %}", "${{ matrix.os }}"),
        ("{{ 'a' if branch == 'main' else 'b' }}", "b"),
        ("plain { text } } %", "plain { text } } %"),
    ] {
        assert_eq!(filled(prompt), text, "{prompt}");
    }
}

#[test]
fn what_a_story_says_is_never_read_as_a_template() {
    let story = TemplateStory { id: "{{ x }}", title: "{% if %}", text: "{{ agent.name }} {#" };
    let context = TemplateContext { story, ..CONTEXT };
    let project = good(format!(
        "{LEAST}prompt = '{{{{ story.id }}}} {{{{ story.title }}}} {{{{ story.text }}}}'\n"
    ));
    let prompt = project.agents[0].render(&context).unwrap().prompt;
    assert_eq!(prompt, "{{ x }} {% if %} {{ agent.name }} {#");
}

#[test]
fn a_wrong_name_is_found_in_every_branch_with_the_right_one() {
    assert_eq!(
        complaints("\"\"\"\nDo it.\n{% if agent.model %}{{ story.titel }}{% endif %}\n\"\"\""),
        [".musher/project.toml:6:24: there is no variable `story.titel`\n\
          \x20 6 | {% if agent.model %}{{ story.titel }}{% endif %}\n\
          \x20   |                        ^^^^^^^^^^^ did you mean `story.title`?"]
    );
    for (prompt, part) in [
        ("'{{ titel }}'", "there is no variable `titel`"),
        ("'{{ story }}'", "there is no variable `story`"),
        ("'{{ story.text.x }}'", "there is no variable `story.text.x`"),
        ("'${{ matrix.os }}'", "there is no variable `matrix.os`"),
        ("'{{ story[\"titel\"] }}'", "there is no variable `story`"),
        ("'{% if worktre %}{% endif %}'", "did you mean `worktree`?"),
        ("'{{ branch | uper }}'", "did you mean `upper`?"),
        ("'{{ branch | center(9) }}'", "templates have no filter `center`"),
        ("'{{ range(9) }}'", "templates have no function `range`"),
        ("'{{ story.title.upper() }}'", "templates have no function `story.title.upper`"),
        ("'{{ branch * 9 }}'", "templates have no operator `*`"),
        ("'{% if branch is defined %}{% endif %}'", "templates have no tests with `is`"),
        ("'{% for x in branch %}{% endfor %}'", "templates have no statement `for`"),
        ("'{% set x = 1 %}'", "templates have no statement `set`"),
        ("'{% include \"x\" %}'", "templates have no statement `include`"),
    ] {
        let said = complaints(prompt).join("\n");
        assert!(said.contains(part), "{prompt}: {said}");
    }
}

#[test]
fn a_mistake_of_grammar_is_found_on_its_line() {
    for (prompt, place) in [
        ("'{{ branch'", ":4:11:"),
        ("'''\none\n  {% if branch %}\n'''", ":6:3:"),
        ("\"one\\n{{ branch branch }}\"", ":4:16:"),
        ("'{% endif %}'", ":4:11:"),
        ("'{{ branch + 1 }}'", ":4:11:"),
        ("'{{ \"a\" \"\\'", ":4:11:"),
    ] {
        let said = complaints(prompt);
        assert_eq!(said.len(), 1, "{prompt}: {said:?}");
        assert!(said[0].contains(place) && said[0].contains("cannot be filled in"), "{}", said[0]);
    }
}

#[test]
fn a_mistake_in_a_prompt_file_is_placed_in_that_file() {
    let folder = repo(format!("{LEAST}prompt_file = \"prompts/mine.md\"\n"));
    let path = folder.path().join(".musher/prompts/mine.md");
    fs::write(&path, "\u{feff}# Work\r\n\r\nOn {{ stori.id }}.\r\n").unwrap();
    let errors = load(folder.path(), RUNTIMES).unwrap_err().to_string();
    assert_eq!(
        errors,
        ".musher/prompts/mine.md:3:7: there is no variable `stori.id`\n\
         \x20 3 | On {{ stori.id }}.\n\
         \x20   |       ^^^^^^^^ did you mean `story.id`?"
    );
    fs::write(&path, "\n \n").unwrap();
    let errors = load(folder.path(), RUNTIMES).unwrap_err().to_string();
    assert!(errors.contains(".musher/prompts/mine.md is empty"), "{errors}");
}

#[test]
fn a_value_that_does_not_fit_is_named_with_the_agent_the_key_and_the_line() {
    let project = good(format!("{LEAST}prompt = \"one\\n{{{{ story.text | lines | first }}}}\"\n"));
    let story = TemplateStory { text: "", ..CONTEXT.story };
    let error = project.agents[0].render(&TemplateContext { story, ..CONTEXT }).unwrap_err();
    assert_eq!((error.field, error.line), ("prompt", 2));
    assert!(error.to_string().starts_with("agent coder: line 2 of its prompt"), "{error}");
}

#[test]
fn a_storys_own_variables_are_filled_in_and_one_without_a_value_is_named_with_the_nearest() {
    let project = good(format!(
        "{LEAST}prompt = 'a {{{{ set.ticket }}}}'\ncontinue_prompt = '{{{{ set.who | default(\"x\") }}}}'\n"
    ));
    let agent = &project.agents[0];
    let render = |names: &[&str]| {
        let set = names.iter().map(|name| ((*name).to_owned(), "{{ 1 }}".to_owned())).collect();
        agent.render(&TemplateContext { set: &set, ..CONTEXT })
    };
    let rendered = render(&["ticket"]).unwrap();
    assert_eq!((rendered.prompt.as_str(), rendered.continue_prompt.as_str()), ("a {{ 1 }}", "x"));
    let said = render(&[]).unwrap_err().to_string();
    assert!(said.contains("no variable `set.ticket`; give it with --set ticket=VALUE"), "{said}");
    let said = render(&["tiket", "other"]).unwrap_err().to_string();
    assert!(
        said.ends_with("there is no variable `set.ticket`; did you mean `set.tiket`?"),
        "{said}"
    );
    for (prompt, part) in [
        ("'{{ set }}'", "there is no variable `set`"),
        ("'{{ set.a.b }}'", "there is no variable `set.a.b`"),
        ("'{{ sets.a }}'", "there is no variable `sets.a`"),
    ] {
        let said = complaints(prompt).join("\n");
        assert!(said.contains(part), "{prompt}: {said}");
    }
}
