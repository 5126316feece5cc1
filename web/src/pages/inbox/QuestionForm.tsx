// Questions, answered by a number, several numbers, or words of one's own.
import { type FormEvent, useRef, useState } from "react";
import type { Ask, Question } from "../../api/words";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Markdown } from "../../ui/Markdown";
import { plain } from "../../ui/plain";
import type { Give } from "./Answering";
import { type Reply, useDraft } from "./drafts";

const NO_REPLY: Reply = { chosen: [], text: "" };
const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

interface Props {
  ask: Ask;
  questions: Question[];
  /** The heading under which the sheet of keys names them. */
  group: string;
  /** Whether the keys mean this one. */
  active: boolean;
  give: Give;
}

export function QuestionForm({ ask, questions, group, active, give }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const [draft, change] = useDraft(ask);
  const replies = questions.map((_, n) => draft.replies?.[n] ?? NO_REPLY);
  const [at, setAt] = useState(0);
  const current = questions[at];
  const send = (all: Reply[]) => {
    const given = all.map(({ chosen, text }) =>
      text.trim() === "" ? { chosen } : { chosen, text: text.trim() },
    );
    give({ decision: "replies", replies: given }, `Answered ${ask.agent}`);
  };
  const put = (question: number, reply: Reply): Reply[] => {
    const all = replies.map((old, n) => (n === question ? reply : old));
    change({ replies: all });
    return all;
  };
  const answered = (reply: Reply | undefined) =>
    reply !== undefined && (reply.chosen.length > 0 || reply.text.trim() !== "");
  /** Goes on to the next question that has no answer; after the last one the answers are sent. */
  const onward = (all: Reply[]) => {
    const open = all.findIndex((reply) => !answered(reply));
    if (open === -1) {
      send(all);
      return;
    }
    setAt(open);
    // Where there is nothing to choose, words are all that can follow.
    if ((questions[open]?.options ?? []).length === 0) focusWords(open);
  };
  const focusWords = (question: number) => {
    const field = form.current?.elements.namedItem(`words-${question}`);
    if (field instanceof HTMLElement) field.focus();
  };
  const choose = (question: number, label: string) => {
    const old = replies[question] ?? NO_REPLY;
    if (questions[question]?.multi) {
      const chosen = old.chosen.includes(label)
        ? old.chosen.filter((one) => one !== label)
        : [...old.chosen, label];
      put(question, { ...old, chosen });
      setAt(question);
    } else {
      onward(put(question, { text: "", chosen: [label] }));
    }
  };
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    onward(replies);
  };
  useActions(group, [
    {
      id: "inbox.choose",
      words: "Choose an answer",
      keys: DIGITS,
      shown: "1–9",
      off: !active || (current?.options ?? []).length === 0,
      stays: true,
      run: (key) => {
        const option = current?.options?.[Number(key) - 1];
        if (option) choose(at, option.label);
      },
    },
    {
      id: "inbox.send",
      words: "Send the answers",
      keys: ["Enter"],
      off: !active || !replies.some(answered),
      stays: true,
      run: () => submit(),
    },
    {
      id: "inbox.words",
      words: "Answer in your own words",
      keys: ["i"],
      off: !active,
      stays: true,
      run: () => focusWords(at),
    },
  ]);
  return (
    <form className="questions" ref={form} onSubmit={submit}>
      {questions.map((question, n) => (
        // Questions of an ask never change their order.
        <fieldset key={n} className={n === at ? "question-box current" : "question-box"}>
          <legend>{question.header === undefined ? `Question ${n + 1}` : plain(question.header)}</legend>
          <Markdown text={question.text} />
          <div className="options">
            {(question.options ?? []).map((option, m) => (
              <label key={option.label} className="option">
                <input
                  type={question.multi ? "checkbox" : "radio"}
                  name={`question-${n}`}
                  checked={replies[n]?.chosen.includes(option.label) ?? false}
                  onChange={() => choose(n, option.label)}
                />
                {m < 9 && n === at && <kbd aria-hidden="true">{m + 1}</kbd>}
                <span>
                  {plain(option.label)}
                  {option.description !== undefined && (
                    <span className="quiet"> {plain(option.description)}</span>
                  )}
                </span>
              </label>
            ))}
          </div>
          <input
            name={`words-${n}`}
            aria-label={`Own words for question ${n + 1}`}
            placeholder={(question.options ?? []).length > 0 ? "or in your own words" : "your answer"}
            value={replies[n]?.text ?? ""}
            onFocus={() => setAt(n)}
            onChange={(event) => put(n, { chosen: replies[n]?.chosen ?? [], text: event.target.value })}
          />
        </fieldset>
      ))}
      <div className="ask-buttons">
        <Button kind="primary" type="submit" hint="Enter" isDisabled={!replies.some(answered)}>
          Answer
        </Button>
      </div>
    </form>
  );
}
