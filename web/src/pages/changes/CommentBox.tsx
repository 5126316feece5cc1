// A comment below its line: to read, to write and to remove. What is typed is kept at every key.
import { useEffect, useRef } from "react";
import { Button } from "../../ui/Button";
import { plain } from "../../ui/plain";
import { say } from "../../ui/toast";
import { addComment, type Comment, editComment, placeOf, removeComment } from "./comments";

interface Props {
  run: string;
  comment: Comment;
  /** Its line is no longer there, or is another one. */
  adrift: boolean;
  open: boolean;
  onOpen(id: string | null): void;
}

export function CommentBox({ run, comment, adrift, open, onOpen }: Props) {
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (open) box.current?.focus({ preventScroll: true });
  }, [open]);
  const close = () => {
    if (comment.text.trim() === "") removeComment(run, comment.id);
    onOpen(null);
  };
  const remove = () => {
    removeComment(run, comment.id);
    onOpen(null);
    if (comment.text.trim() === "") return;
    say("Removed the comment.", { undo: () => addComment(run, comment) });
  };
  const where = placeOf(comment);
  return (
    <section className={`comment${adrift ? " adrift" : ""}`} aria-label={`Comment on ${where}`}>
      <header>
        <strong>{open ? `Comment on ${where}` : `Your comment on ${where}`}</strong>
        <span className="quiet">{adrift ? "The line has changed since." : "Not sent yet"}</span>
      </header>
      {adrift && <pre className="comment-quote">{plain(comment.quote)}</pre>}
      {open ? (
        <textarea
          ref={box}
          rows={3}
          aria-label={`Comment on ${where}`}
          placeholder="What should the agent do here?"
          value={comment.text}
          onChange={(event) => editComment(run, comment.id, event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape" || (event.key === "Enter" && (event.ctrlKey || event.metaKey))) {
              event.preventDefault();
              event.stopPropagation();
              close();
            }
          }}
        />
      ) : (
        <p className="comment-text">{plain(comment.text)}</p>
      )}
      <footer>
        {open ? (
          <Button kind="primary" hint="Ctrl+Enter" onPress={close} isDisabled={comment.text.trim() === ""}>
            Keep
          </Button>
        ) : (
          <Button onPress={() => onOpen(comment.id)}>Edit</Button>
        )}
        <Button kind="quiet" onPress={remove}>
          Remove
        </Button>
        {open && (
          <span className="quiet comment-hint">Comments go to the agent together, when you send them.</span>
        )}
      </footer>
    </section>
  );
}
