// The dialogs about stories, which open over any page; `c` begins a new story from everywhere.
import { useActions } from "../../keys/registry";
import { Sure } from "../Confirm";
import { Dialog } from "../Dialog";
import { newStory, type StoryDialog, show, useStoryDialog } from "./dialogs";
import { Finish } from "./Finish";
import { NewStory } from "./NewStory";
import { Start } from "./Start";

export function StoryDialogs() {
  const open = useStoryDialog();
  const close = () => show(null);
  useActions("Everywhere", [{ id: "story.new", words: "New story", keys: ["c"], run: newStory }]);
  return (
    <Dialog title={titleOf(open)} open={open !== null} onClose={close}>
      {open !== null && <Inside dialog={open} onClose={close} />}
    </Dialog>
  );
}

function Inside({ dialog, onClose }: { dialog: StoryDialog; onClose(): void }) {
  switch (dialog.kind) {
    case "new":
      return <NewStory onClose={onClose} />;
    case "start":
      return <Start key={dialog.story} story={dialog.story} given={dialog.given ?? {}} onClose={onClose} />;
    case "finish":
      return <Finish key={dialog.story} story={dialog.story} onClose={onClose} />;
    case "sure":
      return <Sure question={dialog.question} onClose={onClose} />;
  }
}

function titleOf(dialog: StoryDialog | null): string {
  switch (dialog?.kind) {
    case "new":
      return "New story";
    case "start":
      return "Start an agent";
    case "finish":
      return "Finish the story";
    case "sure":
      return dialog.question.title;
    case undefined:
      return "Story";
  }
}
