// The board: every story where its work stands, live, moved by pointer or by keys.
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useActions } from "../../keys/registry";
import { useLive } from "../../live/hooks";
import { store } from "../../live/store";
import { Button } from "../../ui/Button";
import { useNarrow } from "../../ui/narrow";
import { Empty, Loading } from "../../ui/states";
import { useStoryDialog } from "../../ui/story/dialogs";
import { labelsOf } from "../../ui/story/spec";
import type { CardEvents } from "./CardView";
import { ColumnView } from "./ColumnView";
import { type Card, useCards } from "./cards";
import { useChoice } from "./choice";
import { COLUMNS } from "./columns";
import { filtered, isFiltered, useLook } from "./filters";
import { inOrder, ListView } from "./ListView";
import { ManyHint } from "./ManyHint";
import { MoveMenu } from "./MoveMenu";
import { type Move, type MoveKind, movesOf } from "./moves";
import { firstColumn, PhoneTabs } from "./PhoneTabs";
import { Preview } from "./Preview";
import { perform, resolveConflict } from "./perform";
import { Toolbar } from "./Toolbar";

export default function Board() {
  const ready = useLive((world) => world.ready);
  const cards = useCards();
  const look = useLook();
  const [, go] = useLocation();
  const narrow = useNarrow();
  const box = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const [previewing, setPreviewing] = useState(false);
  const [menu, setMenu] = useState<string | null>(null);
  const [dragged, setDragged] = useState<string | null>(null);

  const shown = filtered(cards, look.filters);
  const states = look.filters.states;
  const columns = COLUMNS.map(({ id }) => id).filter((id) => states.length === 0 || states.includes(id));
  const list = look.view === "list";
  const one = look.column !== null && columns.includes(look.column) ? look.column : firstColumn(shown);
  const visible = list ? [] : narrow ? [one] : columns;
  const lists = list ? [inOrder(shown)] : visible.map((id) => shown.filter((card) => card.column === id));
  const covered = useStoryDialog() !== null || menu !== null;
  const choice = useChoice(lists, box, covered);
  const { card } = choice;

  const choose = choice.choose;
  const events = useMemo<CardEvents>(
    () => ({
      choose,
      preview: (id) => {
        choose(id);
        setPreviewing((before) => !before);
      },
      menu: (id) => {
        choose(id);
        setMenu(id);
      },
      resolve: (id) => {
        choose(id);
        resolveConflict(store.world.stories.get(id), go);
      },
      dragging: setDragged,
    }),
    [choose, go],
  );
  const act = (about: Card, move: Move) => perform(about, move, go);
  const by = (...kinds: MoveKind[]) => {
    const move = card === null ? undefined : movesOf(card).find((found) => kinds.includes(found.kind));
    return { off: move === undefined, run: () => card !== null && move !== undefined && act(card, move) };
  };
  const off = card === null;
  const preview = previewing && card !== null && !narrow;
  useEffect(() => {
    // The preview takes room from the columns.
    if (preview)
      document.activeElement?.closest(".column")?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [preview]);
  useActions("Board", [
    {
      id: "board.down",
      words: "Card below",
      keys: ["j", "ArrowDown"],
      repeat: true,
      off,
      run: () => choice.move(0, 1),
    },
    {
      id: "board.up",
      words: "Card above",
      keys: ["k", "ArrowUp"],
      repeat: true,
      off,
      run: () => choice.move(0, -1),
    },
    {
      id: "board.left",
      words: "Column to the left",
      keys: ["h", "ArrowLeft"],
      shown: "h / ←",
      off: off || list,
      run: () => choice.move(-1, 0),
    },
    {
      id: "board.right",
      words: "Column to the right",
      keys: ["l", "ArrowRight"],
      shown: "l / →",
      off: off || list,
      run: () => choice.move(1, 0),
    },
    {
      id: "board.open",
      words: "Open the story",
      keys: ["Enter", "o"],
      off,
      run: () => card && go(`/stories/${card.id}`),
    },
    {
      id: "board.preview",
      words: "Preview the story",
      keys: [" "],
      shown: "Space",
      off,
      run: () => setPreviewing(!previewing),
    },
    {
      id: "board.close",
      words: "Close the preview",
      keys: ["Escape"],
      off: !preview,
      run: () => setPreviewing(false),
    },
    { id: "board.move", words: "Move the story", keys: ["m"], off, run: () => setMenu(card?.id ?? null) },
    { id: "board.start", words: "Start an agent on the story", keys: ["s"], ...by("start", "restart") },
    { id: "board.retry", words: "Retry with the same agent", keys: ["r"], ...by("retry") },
    { id: "board.stop", words: "Stop its run", keys: ["S"], ...by("stop") },
    { id: "board.done", words: "Done, or merge it", keys: ["x"], ...by("done", "finish") },
    { id: "board.reopen", words: "Reopen the story", keys: ["u"], ...by("reopen") },
    { id: "board.find", words: "Find stories", keys: ["/"], run: () => search.current?.focus() },
    {
      id: "board.mine",
      words: "Only what needs me",
      keys: ["w"],
      run: () => look.set({ mine: !look.filters.mine }),
    },
    {
      id: "board.view",
      words: list ? "Show columns" : "Show a list",
      keys: ["v"],
      run: () => look.set({ view: list ? "board" : "list" }),
    },
  ]);
  const agents = useMemo(() => [...new Set(cards.flatMap((each) => each.agents))].sort(), [cards]);
  const labels = useMemo(() => labelsOf(cards.map(({ story }) => story)), [cards]);
  if (!ready) return <Loading what="the board" />;
  const byId = (id: string | null) => cards.find((each) => each.id === id) ?? null;
  const chosen = card?.id ?? null;
  return (
    <div className="board" ref={box}>
      <Toolbar
        look={look}
        agents={agents}
        labels={labels}
        shown={shown.length}
        all={cards.length}
        search={search}
        leave={() => choice.focus()}
      />
      {cards.length > 0 && <ManyHint count={cards.length} look={look} />}
      {shown.length === 0 ? (
        <Nothing filtered={isFiltered(look.filters) && cards.length > 0} clear={look.clear} />
      ) : (
        <>
          {narrow && !list && (
            <PhoneTabs
              cards={shown}
              columns={columns}
              chosen={one}
              choose={(column) => look.set({ column })}
            />
          )}
          <div className={preview ? "board-body with-preview" : "board-body"}>
            {list ? (
              <ListView cards={lists[0] ?? []} chosen={chosen} events={events} handle={choice.list(0)} />
            ) : (
              <div className="columns">
                {visible.map((column, at) => (
                  <ColumnView
                    key={column}
                    column={column}
                    cards={lists[at] ?? []}
                    chosen={chosen}
                    events={events}
                    handle={choice.list(at)}
                    dragged={byId(dragged)}
                    drop={(about, move) => {
                      setDragged(null);
                      act(about, move);
                    }}
                  />
                ))}
              </div>
            )}
            {preview && <Preview card={card} pick={act} onClose={() => setPreviewing(false)} />}
          </div>
        </>
      )}
      <MoveMenu
        card={byId(menu)}
        anchor={
          menu === null ? null : (box.current?.querySelector(`[data-story="${CSS.escape(menu)}"]`) ?? null)
        }
        onClose={() => setMenu(null)}
        pick={act}
        open={(about) => go(`/stories/${about.id}`)}
      />
    </div>
  );
}

function Nothing({ filtered, clear }: { filtered: boolean; clear(): void }) {
  if (filtered) {
    return (
      <Empty title="No matching stories" action={<Button onPress={clear}>Clear the filters</Button>}>
        Some stories are hidden by the filters.
      </Empty>
    );
  }
  return (
    <Empty title="No stories yet" action={<Link href="/first">Take the first steps</Link>}>
      Write what you want in the line above, or press c on any page.
    </Empty>
  );
}
