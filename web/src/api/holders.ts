// Who gave an answer, in words: the holders of tokens by their names.
import { useEffect, useState } from "react";
import { takeRaw } from "./client";

/** Who speaks, as the event `ask_closed` and the facts tell it. */
export interface Who {
  type: string;
  token?: string;
}

export interface Holder {
  name: string;
  /** Whether this browser shows the token. */
  current: boolean;
}

type Holders = Map<string, Holder>;

let known: Promise<Holders> | null = null;

async function readHolders(): Promise<Holders> {
  const { tokens } = await takeRaw<{ tokens: (Holder & { id: string })[] }>("/tokens");
  return new Map(tokens.map(({ id, name, current }) => [id, { name, current }]));
}

/** The holder of a token; a token that was made since is asked for once more. */
async function holderOf(token: string): Promise<Holder | undefined> {
  known ??= readHolders();
  const before = known;
  const found = (await before).get(token);
  if (found !== undefined) return found;
  if (known === before) known = readHolders();
  return (await known).get(token);
}

/** Who it was, in words: a person who looks is "you". Logs of older servers do not say. */
export function whoWords(who: Who | null, holder: Holder | undefined): string {
  switch (who?.type) {
    case undefined:
      return "you";
    case "owner":
      return "the command line";
    case "program":
      if (holder === undefined) return `token ${who.token}`;
      return holder.current ? "you" : holder.name;
    default:
      return "someone else";
  }
}

export function useWhoWords(who: Who | null): string {
  const [holder, set] = useState<Holder | undefined>(undefined);
  const token = who?.type === "program" ? who.token : undefined;
  useEffect(() => {
    let wanted = true;
    if (token !== undefined) {
      holderOf(token).then(
        (found) => wanted && set(found),
        // The id stands for the name.
        () => {
          known = null;
        },
      );
    }
    return () => {
      wanted = false;
    };
  }, [token]);
  return whoWords(who, holder);
}
