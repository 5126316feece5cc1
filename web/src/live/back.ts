// What somebody wrote while the server was away: it is sent when the server is back, unless they take it back.
import { made, ProblemError } from "../api/problem";
import { dismiss, say } from "../ui/toast";
import { store } from "./store";

/** A server that has only just gone away is still taken for live for a moment. */
const NOTICED_MS = 1_000;
/** The notice stays as long as it says something. */
const FOR_LONG = 24 * 60 * 60_000;

/**
 * Does a piece of work that can be done again without harm, and waits for the server as long as it is away. `what` says what is
 * sent, as in `The story`.
 */
export async function whenBack<T>(what: string, work: () => Promise<T>): Promise<T> {
  let waited = false;
  for (;;) {
    try {
      const done = await work();
      if (waited) say(`The server is back. ${what} was sent.`);
      return done;
    } catch (error) {
      // Anything else than a lost connection is an answer.
      if (!(error instanceof TypeError)) throw error;
      waited = true;
      await back(what);
    }
  }
}

/** Waits until the server is there again. */
function back(what: string): Promise<void> {
  return new Promise((done, failed) => {
    const end = () => {
      stop();
      clearTimeout(timer);
      dismiss(toast);
    };
    const look = () => {
      if (store.link.state !== "live" || Date.now() < from) return;
      end();
      done();
    };
    const from = Date.now() + NOTICED_MS;
    const timer = setTimeout(look, NOTICED_MS);
    const stop = store.subscribe(look);
    const toast = say(`The server is away. ${what} is sent when it is back.`, {
      ms: FOR_LONG,
      undo: () => {
        end();
        failed(new ProblemError(made("taken_back", 0, "it was not sent", "send it again when you want to")));
      },
    });
  });
}
