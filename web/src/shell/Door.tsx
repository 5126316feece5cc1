// What is shown without a token: which command prints the link, and a place to paste it.
import { type FormEvent, useState } from "react";
import { asProblem } from "../api/problem";
import { paste } from "../api/token";
import { Button } from "../ui/Button";
import { CopyText } from "../ui/CopyText";
import { plain } from "../ui/plain";
import { capital } from "../ui/states";

export function Door({ why, lost }: { why: string | null; lost: boolean }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const enter = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await paste(text);
    } catch (error) {
      setProblem(asProblem(error).detail);
    }
  };
  const said = problem ?? why;
  return (
    <main className="door" id="main">
      <h1>Musher</h1>
      {said !== null && <p role="alert">{capital(plain(said))}.</p>}
      <p>
        {lost
          ? "This browser was signed out. Your unsent text is kept here; agents keep working. "
          : "This browser is not signed in yet. "}
        A sign-in link works once. To get another one, run this in the repository; it opens the browser:
      </p>
      <CopyText text="musher open" />
      <p className="quiet">
        Or paste a link here, or the content of the file <code>token</code> in the state directory, which{" "}
        <code>musher serve</code> names.
      </p>
      <form onSubmit={enter}>
        <label>
          The link or the token
          <input
            value={text}
            onChange={(event) => setText(event.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        </label>
        <Button kind="primary" type="submit" isDisabled={text.trim() === ""}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
