// Starting an agent on a story: who, and if somebody wants, with which words and which model.
import { type KeyboardEvent, useState } from "react";
import { asProblem, type Problem } from "../../api/problem";
import { useStory } from "../../live/hooks";
import { Button } from "../Button";
import { useKept } from "../kept";
import { ProblemLine } from "../ProblemLine";
import { oneLine } from "../plain";
import { Line } from "../Text";
import { say } from "../toast";
import { AgentChoice } from "./AgentChoice";
import { reopen, start } from "./commands";
import { type Member, remember, rememberedModel, useTeam, usual } from "./team";

interface Props {
  story: string;
  given: { agent?: string; problem?: Problem };
  onClose(): void;
}

export function Start({ story: id, given, onClose }: Props) {
  const story = useStory(id);
  const team = useTeam();
  const [picked, pick] = useState<string | null>(null);
  const [typed, setModel] = useState<string | null>(null);
  // Words that were typed for a story and not sent are there the next time.
  const [prompt, setPrompt] = useKept(`start.${id}`);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(given.problem ?? null);
  const members = team.data ?? [];
  const off = (member: Member) => (member.runs.some((run) => run.story === id) ? "at work on this" : null);
  const free = members.filter((member) => off(member) === null);
  const agent = picked ?? usual(free, given.agent ?? story?.agent ?? story?.latest?.agent);
  const member = members.find((one) => one.name === agent);
  const model = typed ?? (agent === undefined ? "" : rememberedModel(agent));
  const go = async () => {
    if (agent === undefined || busy) return;
    setBusy(true);
    try {
      if (story?.state === "done") await reopen(id);
      await start(id, { agent, model: model.trim(), prompt: prompt.trim() });
      remember(agent, model.trim());
      setPrompt("");
      onClose();
      say(`${oneLine(agent, 40)} starts on ${id}.`);
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    const target = event.target as HTMLElement;
    if (target.closest("button") !== null) return;
    if (target.tagName === "TEXTAREA" && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    void go();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Enter in any of its fields starts the agent.
    <div className="story-form" onKeyDown={press}>
      <p className="story-about">
        on <Line text={story?.title ?? id} longest={120} />
        {story?.state === "done" && ", which is taken up again"}
      </p>
      {members.length === 0 ? (
        <p role="status">{team.loading ? "Loading the team…" : "The project file names no agent."}</p>
      ) : (
        <AgentChoice team={members} chosen={agent} choose={pick} off={off} focus />
      )}
      {team.problem !== undefined && <ProblemLine problem={team.problem} />}
      {member?.health?.state === "missing" && (
        <p className="story-problem">{oneLine(`${member.health.detail}. ${member.health.fix ?? ""}`, 300)}</p>
      )}
      <label className="story-field">
        <span>
          Prompt <span className="quiet">(the story if left empty)</span>
        </span>
        <textarea rows={2} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
      </label>
      <label className="story-field">
        <span>
          Model <span className="quiet">(the agent’s own if left empty)</span>
        </span>
        <input
          value={model}
          placeholder={member?.model ?? ""}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setModel(event.target.value)}
        />
      </label>
      <ProblemLine problem={problem} />
      <div className="story-buttons">
        <Button kind="primary" hint="Enter" isDisabled={agent === undefined || busy} onPress={go}>
          Start {agent === undefined ? "" : oneLine(agent, 30)}
        </Button>
        <Button kind="quiet" hint="Esc" onPress={onClose}>
          Back
        </Button>
      </div>
    </div>
  );
}
