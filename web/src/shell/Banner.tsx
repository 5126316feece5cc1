// One line above the page about what keeps it from being live, with what still works and one button.
import { useEffect, useState } from "react";
import { useLink } from "../live/hooks";
import { store } from "../live/store";
import { Button } from "../ui/Button";
import { plain } from "../ui/plain";

/** A connection that is back at once is not worth a word. */
const PATIENCE = 2_000;

export function Banner() {
  const { state, problem } = useLink(({ state, problem }) => ({ state, problem }));
  const newer = useLink(({ build }) => build !== null && build.first !== build.now);
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (state !== "reconnecting") return;
    const timer = setTimeout(() => setLate(true), PATIENCE);
    return () => clearTimeout(timer);
  }, [state]);
  if (late && state === "reconnecting") {
    return (
      <div className="banner warn" role="status">
        <span>
          {problem === null ? "The server does not answer" : plain(problem)}. Data may be out of date. New
          stories and messages are sent when it is back; everything else says so if it was not sent. Agents go
          on without the server.
        </span>
        <Button onPress={() => store.tryNow()}>Try now</Button>
      </div>
    );
  }
  if (newer) {
    return (
      <div className="banner" role="status">
        <span>
          The server has a new version. Until you reload, some of this page may not work; what you typed
          stays.
        </span>
        <Button onPress={() => location.reload()}>Reload</Button>
      </div>
    );
  }
  return null;
}
