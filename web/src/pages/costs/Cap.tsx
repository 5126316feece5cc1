// What may be spent in a day: how much of it is gone, and a place to change it.
import { type FormEvent, useState } from "react";
import { takeRaw } from "../../api/client";
import { useQuery } from "../../api/query";
import { useLive } from "../../live/hooks";
import { store } from "../../live/store";
import { Button } from "../../ui/Button";
import { amount, money } from "../../ui/format";
import { useKept } from "../../ui/kept";
import { attempt, say } from "../../ui/toast";

/** The cap as the server keeps it, which is not told with the day by every server. */
function useCap() {
  const told = useLive((world) => world.project?.day?.cap_usd);
  const local = useQuery("local caps", () =>
    takeRaw<{ caps: { day_usd?: number | null } }>("/local").then(({ caps }) => caps.day_usd ?? null),
  );
  return { cap: local.data ?? told ?? null, reload: local.reload };
}

/** Dollars above zero, or null for what is none. */
export function dollars(text: string): number | null {
  const amount = Number(text.trim().replace(/^\$/, "").replace(",", "."));
  return text.trim() !== "" && Number.isFinite(amount) && amount > 0 ? amount : null;
}

export function Cap() {
  const day = useLive((world) => world.project?.day);
  const { cap, reload } = useCap();
  const [text, setText] = useKept("cap");
  const [open, setOpen] = useState(text !== "");
  const [wrong, setWrong] = useState(false);
  const put = async (next: number | null) => {
    const init = { method: "PUT", body: JSON.stringify({ day_usd: next }) };
    if (!(await attempt(() => takeRaw("/local/caps", init)))) return;
    say(next === null ? "Daily limit removed." : `Daily limit set to ${money(next)}.`);
    setText("");
    setOpen(false);
    reload();
    store.refreshProject();
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    const next = dollars(text);
    setWrong(next === null);
    if (next !== null) void put(next);
  };
  const spent = day?.spent_usd ?? 0;
  const gone = spent + (day?.held_usd ?? 0);
  const share = cap === null ? 0 : Math.min(1, gone / cap);
  const words = `${amount(spent, day)}${cap === null ? "" : ` of ${money(cap)}`}`;
  return (
    <section className="cap" aria-labelledby="cap-title">
      <h3 id="cap-title">Today, in UTC</h3>
      <p className="cap-sum">
        <strong>{words}</strong>
        {day?.unknown && <span className="quiet"> The cost of a part of it is unknown.</span>}
        {(day?.held_usd ?? 0) > 0 && (
          <span className="quiet">
            {" "}
            {money(day?.held_usd ?? 0)} more may have been spent by runs of unknown cost, and count as gone.
          </span>
        )}
      </p>
      {cap !== null && (
        <div
          className={share >= 0.8 ? "cap-bar near" : "cap-bar"}
          role="meter"
          aria-label="Cost today, of the daily limit"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(share * 100)}
          aria-valuetext={words}
        >
          <span style={{ inlineSize: `${share * 100}%` }} />
        </div>
      )}
      {!open ? (
        <div className="cap-foot">
          <span className="quiet">
            {cap === null
              ? "No daily limit."
              : share >= 1
                ? "Daily limit reached: queued runs wait until tomorrow."
                : "When the limit is reached, queued runs wait until tomorrow."}
          </span>
          <Button onPress={() => setOpen(true)}>
            {cap === null ? "Set a daily limit" : "Change the daily limit"}
          </Button>
        </div>
      ) : (
        <form className="cap-form" onSubmit={save}>
          <label>
            Dollars a day
            <input
              // biome-ignore lint/a11y/noAutofocus: it was opened to be typed into.
              autoFocus
              inputMode="decimal"
              value={text}
              placeholder={cap === null ? "10.00" : cap.toFixed(2)}
              aria-invalid={wrong}
              aria-describedby={wrong ? "cap-wrong" : undefined}
              onChange={(event) => {
                setText(event.target.value);
                setWrong(false);
              }}
            />
          </label>
          <Button kind="primary" type="submit">
            Save
          </Button>
          {cap !== null && <Button onPress={() => void put(null)}>Remove the limit</Button>}
          <Button
            kind="quiet"
            onPress={() => {
              setText("");
              setWrong(false);
              setOpen(false);
            }}
          >
            Back
          </Button>
          {wrong && (
            <p id="cap-wrong" className="wrong" role="alert">
              A cap is an amount of dollars above 0, such as 10 or 2.50.
            </p>
          )}
        </form>
      )}
    </section>
  );
}
