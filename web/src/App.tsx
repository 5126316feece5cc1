// Which page an address shows. Each page is fetched when it is first opened.
import { type ComponentType, lazy, Suspense, useEffect, useSyncExternalStore } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { onToken, token, whyLost } from "./api/token";
import { useLink, useLive } from "./live/hooks";
import { store } from "./live/store";
import { useInbox } from "./pages/inbox/items";
import { setPageTitle } from "./shell/attention";
import { Door } from "./shell/Door";
import { Fault } from "./shell/Fault";
import { Shell } from "./shell/Shell";
import { Empty, Loading } from "./ui/states";

type Page = { default: ComponentType };

const fetches: (() => Promise<Page>)[] = [];

/** The pages and their titles. A page begins with headings of the second level: the title is the first. */
const PAGES: { path: string; title: string; page: ComponentType }[] = [
  { path: "/inbox/:run?/:ask?", title: "Inbox", page: load(() => import("./pages/inbox/Inbox")) },
  { path: "/board", title: "Board", page: load(() => import("./pages/board/Board")) },
  { path: "/stories/:story/:tab?", title: "Story", page: load(() => import("./pages/story/Story")) },
  { path: "/runs/:run/:tab?", title: "Run", page: load(() => import("./pages/run/Run")) },
  { path: "/agents", title: "Agents", page: load(() => import("./pages/agents/Agents")) },
  { path: "/costs", title: "Costs", page: load(() => import("./pages/costs/Costs")) },
  { path: "/settings", title: "Settings", page: load(() => import("./pages/settings/Settings")) },
  { path: "/first", title: "First steps", page: load(() => import("./pages/first/First")) },
];

function load(page: () => Promise<Page>): ComponentType {
  fetches.push(page);
  return lazy(() => patient(page));
}

/** A page that is asked for while the server is away, or is another one by now, comes with a new load of everything. */
async function patient(page: () => Promise<Page>): Promise<Page> {
  try {
    return await page();
  } catch (error) {
    // A browser remembers that a script could not be fetched, so that asking again is of no use.
    await live();
    if (!mayReload()) throw error;
    location.reload();
    return new Promise(() => {});
  }
}

/** Waits until the server is there. */
function live(): Promise<void> {
  return new Promise((done) => {
    const look = () => {
      if (store.link.state !== "live") return;
      stop();
      done();
    };
    const stop = store.subscribe(look);
    setTimeout(look, 0);
  });
}

const RELOADED = "musher.reloaded";

/** Not again and again: a page that cannot be had even so is told as a fault. */
function mayReload(): boolean {
  const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
  if (Date.now() - last < 30_000) return false;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  return true;
}

/** Fetches all pages once there is time, so that they are there when the server is not, or is another one. */
function fetchAll(): void {
  for (const page of fetches) page().catch(() => {});
}

export function App({ why }: { why: string | null }) {
  const known = useSyncExternalStore(onToken, token);
  const refused = useLink((link) => (link.state === "refused" ? link.problem : null));
  const ready = useLive((world) => world.ready);
  useEffect(() => {
    if (!ready) return;
    const timer = setTimeout(fetchAll, 300);
    return () => clearTimeout(timer);
  }, [ready]);
  if (known === null) return <Door why={whyLost() ?? why ?? refused} lost={whyLost() !== null} />;
  return (
    <Shell>
      <Fault>
        <Suspense fallback={<Loading what="the page" />}>
          <Switch>
            <Route path="/" component={Home} />
            {PAGES.map(({ path, title, page: Page }) => (
              <Route key={path} path={path}>
                <Titled title={title} />
                <Page />
              </Route>
            ))}
            <Route>
              <Titled title="Nowhere" />
              <Nowhere />
            </Route>
          </Switch>
        </Suspense>
      </Fault>
    </Shell>
  );
}

function Titled({ title }: { title: string }) {
  useEffect(() => setPageTitle(title), [title]);
  return <h1 className="unseen">{title}</h1>;
}

/** The inbox while something waits, the first steps while there is no story, else the board. */
function Home() {
  const ready = useLive((world) => world.ready);
  const none = useLive((world) => world.stories.size === 0);
  const waiting = useInbox().length;
  if (!ready) return <Loading what="the project" />;
  return <Redirect to={waiting > 0 ? "/inbox" : none ? "/first" : "/board"} replace />;
}

function Nowhere() {
  const [here] = useLocation();
  return <Empty title="There is no such page">Nothing is at {here}.</Empty>;
}
