// A text that is meant for a terminal, with a button that copies it.
import { Button } from "./Button";
import { copy } from "./copy";
import { plain } from "./plain";

export function CopyText({ text }: { text: string }) {
  const shown = plain(text);
  return (
    <span className="copy-text">
      <code>{shown}</code>
      <Button kind="quiet" label={`Copy ${shown}`} onPress={() => void copy(shown, "the command")}>
        Copy
      </Button>
    </span>
  );
}

const COMMAND = /^(sudo|musher|systemctl|systemd-run|npm|cargo|apt|apt-get|brew|chmod|git|curl|pip) /;

/** What to do about something: the commands in it, which stand between backticks, can be copied. */
export function Fix({ text }: { text: string }) {
  if (COMMAND.test(text) && !text.includes("`")) return <CopyText text={text} />;
  return (
    <span className="fix">
      <span className="quiet">What to do: </span>
      {plain(text)
        .split("`")
        .map((part, at) => {
          // Parts never move: a text is split in the same way each time.
          const key = at;
          return at % 2 === 1 ? <CopyText key={key} text={part} /> : <span key={key}>{part}</span>;
        })}
    </span>
  );
}
