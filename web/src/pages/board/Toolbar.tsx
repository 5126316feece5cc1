// Above the board: a line for a new story, and which stories are shown, with each filter as a chip.
import { type ClipboardEvent, type FormEvent, type Ref, useEffect, useRef, useState } from "react";
import { Button } from "../../ui/Button";
import { Menu, type MenuAction } from "../../ui/Menu";
import { useNarrow } from "../../ui/narrow";
import { oneLine } from "../../ui/plain";
import { add } from "../../ui/story/commands";
import { DraftMarks } from "../../ui/story/DraftFields";
import { newStory } from "../../ui/story/dialogs";
import { draftSent, setDraft, takeLines, useDraft } from "../../ui/story/draft";
import { added } from "../../ui/story/NewStory";
import { attempt } from "../../ui/toast";
import { COLUMNS, columnWords } from "./columns";
import { isFiltered, type Look } from "./filters";

interface Props {
  look: Look;
  /** Everybody who works on a story, or did. */
  agents: readonly string[];
  labels: readonly string[];
  shown: number;
  all: number;
  search: Ref<HTMLInputElement>;
  /** From the search to the cards. */
  leave(): void;
}

export function Toolbar({ look, agents, labels, shown, all, search, leave }: Props) {
  const { filters, view, set } = look;
  return (
    <div className="board-tools">
      <NewLine />
      <div className="board-filters" role="search" aria-label="Filter stories">
        <Search look={look} search={search} leave={leave} />
        <Menu label="Add a filter" face="Filter" kind="normal" actions={choices(look, agents, labels)} />
        <Button aria-pressed={filters.mine} onPress={() => set({ mine: !filters.mine })} hint="w">
          Needs me
        </Button>
        <Button onPress={() => set({ view: view === "list" ? "board" : "list" })} hint="v">
          {view === "list" ? "Board" : "List"}
        </Button>
      </div>
      {isFiltered(filters) && <Chips look={look} shown={shown} all={all} />}
    </div>
  );
}

function NewLine() {
  const draft = useDraft();
  const [busy, setBusy] = useState(false);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (busy || draft.title.trim() === "") return;
    setBusy(true);
    await attempt(async () => {
      const { title, text, key } = draft;
      const story = await add(title, text, key, draft);
      draftSent(draft);
      added(story, title);
    });
    setBusy(false);
  };
  const paste = (event: ClipboardEvent) => {
    if (!takeLines(event.clipboardData.getData("text"))) return;
    event.preventDefault();
    newStory();
  };
  return (
    <form className="new-story" onSubmit={send}>
      <input
        aria-label="A new story in one line"
        placeholder="A new story in one line"
        value={draft.title}
        onChange={(event) => setDraft({ title: event.target.value })}
        onPaste={paste}
      />
      <DraftMarks draft={draft} />
      <Button type="submit" isDisabled={busy || draft.title.trim() === ""}>
        Add
      </Button>
      <Button kind="quiet" hint="c" label="New story with more text, or started at once" onPress={newStory}>
        More…
      </Button>
    </form>
  );
}

/** The address changes when somebody pauses, not with each letter. */
const PAUSE = 150;

function Search({ look, search, leave }: { look: Look; search: Ref<HTMLInputElement>; leave(): void }) {
  const { text } = look.filters;
  const [typed, setTyped] = useState(text);
  const narrow = useNarrow();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (next: string, wait = PAUSE) => {
    setTyped(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => look.set({ text: next.trim() === "" ? "" : next }), wait);
  };
  return (
    <input
      ref={search}
      type="search"
      aria-label="Stories with these words"
      placeholder={narrow ? "Find" : "Find  /"}
      value={typed}
      onChange={(event) => change(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape" && typed !== "") change("", 0);
        else if (event.key === "Escape" || event.key === "Enter" || event.key === "ArrowDown") leave();
        else return;
        event.preventDefault();
      }}
    />
  );
}

function choices({ filters, set }: Look, agents: readonly string[], labels: readonly string[]): MenuAction[] {
  const toggled = <T extends string>(list: readonly T[], one: T) =>
    list.includes(one) ? list.filter((other) => other !== one) : [...list, one];
  return [
    ...COLUMNS.map(({ id, words }) => ({
      id: `state ${id}`,
      words: `${filters.states.includes(id) ? "✓ " : ""}${words}`,
      about: "State",
      run: () => set({ states: toggled(filters.states, id) }),
    })),
    ...agents.map((agent) => ({
      id: `agent ${agent}`,
      words: `${filters.agents.includes(agent) ? "✓ " : ""}${oneLine(agent, 40)}`,
      about: "Agent",
      run: () => set({ agents: toggled(filters.agents, agent) }),
    })),
    ...labels.map((label) => ({
      id: `label ${label}`,
      words: `${filters.labels.includes(label) ? "✓ " : ""}${oneLine(label, 40)}`,
      about: "Label",
      run: () => set({ labels: toggled(filters.labels, label) }),
    })),
  ];
}

function Chips({ look, shown, all }: { look: Look; shown: number; all: number }) {
  const { filters, set, clear } = look;
  return (
    <ul className="chips" aria-label="Filters">
      {filters.text !== "" && <Chip words={`“${filters.text}”`} off={() => set({ text: "" })} />}
      {filters.mine && <Chip words="needs me" off={() => set({ mine: false })} />}
      {filters.states.map((state) => (
        <Chip
          key={state}
          words={`state: ${columnWords(state)}`}
          off={() => set({ states: filters.states.filter((other) => other !== state) })}
        />
      ))}
      {filters.agents.map((agent) => (
        <Chip
          key={agent}
          words={`agent: ${agent}`}
          off={() => set({ agents: filters.agents.filter((other) => other !== agent) })}
        />
      ))}
      {filters.labels.map((label) => (
        <Chip
          key={label}
          words={`label: ${label}`}
          off={() => set({ labels: filters.labels.filter((other) => other !== label) })}
        />
      ))}
      <li className="quiet" role="status">
        {shown} of {all}
      </li>
      <li>
        <Button kind="quiet" onPress={clear}>
          Clear
        </Button>
      </li>
    </ul>
  );
}

function Chip({ words, off }: { words: string; off(): void }) {
  const short = oneLine(words, 60);
  return (
    <li>
      <Button label={`Remove the filter ${short}`} onPress={off}>
        <bdi>{short}</bdi>
        <span aria-hidden="true">✕</span>
      </Button>
    </li>
  );
}
