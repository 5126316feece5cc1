// Which page an address shows. Each page is fetched when it is first opened.
import { type ComponentType, lazy, Suspense, useEffect, useSyncExternalStore } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { onToken, token } from "./api/token";
import { useLink, useLive } from "./live/hooks";
import { useInboxCount } from "./pages/inbox/items";
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
  { path: "/runs/:run/changes", title: "Changes", page: load(() => import("./pages/changes/Changes")) },
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

/** A page may be asked for while the server starts again. */
async function patient(page: () => Promise<Page>): Promise<Page> {
  for (const wait of [500, 1000, 2000, 4000]) {
    try {
      return await page();
    } catch {
      await new Promise((done) => setTimeout(done, wait));
    }
  }
  return page();
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
  if (known === null) return <Door why={refused ?? why} />;
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
  const waiting = useInboxCount();
  if (!ready) return <Loading what="the project" />;
  return <Redirect to={waiting > 0 ? "/inbox" : none ? "/first" : "/board"} replace />;
}

function Nowhere() {
  const [here] = useLocation();
  return <Empty title="There is no such page">Nothing is at {here}.</Empty>;
}
