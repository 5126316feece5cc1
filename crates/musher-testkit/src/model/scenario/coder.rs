//! The scenario of a small piece of real work: see a test fail, read the file, mend it, see the test pass.

use super::Scene;
use super::work::Next;

/// The next calls of the coder; `None` if the scenario is another.
///
/// `test` is the command that shows the failure, `path` the file, and `old` becomes `new` in it. The tools are those that
/// the client offers under a name that is known for the purpose.
pub(super) fn next(scene: &Scene<'_>) -> Option<Next> {
    let marker = scene.marker;
    if marker.name != "coder" {
        return None;
    }
    let test = marker.text("test", "sh test.sh");
    let path = scene.path("answer.txt");
    let summary = marker.text("say", "The test passes now.");
    let call = match scene.step {
        0 | 3 => scene.run(&test),
        1 => scene.read(&path),
        2 => scene.edit(&path, &marker.text("old", "41"), &marker.text("new", "42")),
        4 => match scene.finish_work(&summary) {
            Some(call) => call,
            None => return Some(Next::Close(summary)),
        },
        _ => return Some(Next::Close(summary)),
    };
    Some(Next::Call(vec![call]))
}
