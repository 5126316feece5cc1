// The fields for labels and for the stories that come first, in the dialog for a new story and on a story's page.
import { Link } from "wouter";
import { useLive } from "../../live/hooks";
import { Badge } from "../Badge";
import { oneLine } from "../plain";
import { ChipField } from "./ChipField";
import { labelOf, labelsOf } from "./spec";

interface Props {
  add(typed: string): Promise<boolean> | boolean;
  remove(id: string): void;
  /** Whether each leads to where more of it is shown. */
  linked?: boolean;
  fixed?: boolean;
  busy?: boolean;
}

/** The labels, each of which leads to the stories that have it. */
export function LabelField({ labels, linked = false, add, ...rest }: Props & { labels: readonly string[] }) {
  const known = useLive((world) => labelsOf(world.stories.values()));
  const face = (label: string) => <bdi>{oneLine(label, 64)}</bdi>;
  return (
    <ChipField
      {...rest}
      what="label"
      label="Labels"
      chips={labels.map((label) => ({
        id: label,
        face: linked ? (
          <Link href={`/board?label=${encodeURIComponent(label)}`} title="Show stories with this label">
            {face(label)}
          </Link>
        ) : (
          face(label)
        ),
      }))}
      known={known.map((value) => ({ value }))}
      add={(typed) => add(labelOf(typed))}
      taken={(typed) => labelOf(typed) !== ""}
    />
  );
}

/**
 * The stories that must be done first, with where each stands. `own` is the story that waits. When somebody goes to another
 * field, only the id of a known story is added, or with `eager` all that was typed.
 */
export function AfterField({
  after,
  own,
  linked = false,
  eager = false,
  ...rest
}: Props & { after: readonly string[]; own?: string; eager?: boolean }) {
  const known = useLive((world) =>
    [...world.stories.values()].filter(({ id, state }) => id !== own && state === "open"),
  );
  return (
    <ChipField
      {...rest}
      what="story"
      label="After"
      hint="Add story by id or title"
      chips={after.map((id) => ({ id, face: <StoryBefore id={id} linked={linked} /> }))}
      known={known.map(({ id, title }) => ({ value: id, about: oneLine(title ?? id, 80) })).reverse()}
      taken={(typed) => eager || known.some(({ id }) => id === typed.trim())}
    />
  );
}

function StoryBefore({ id, linked }: { id: string; linked: boolean }) {
  const story = useLive((world) => world.stories.get(id));
  const ready = useLive((world) => world.ready);
  const face = (
    <>
      {id} <bdi>{oneLine(story?.title ?? "", 40)}</bdi>
    </>
  );
  return (
    <>
      {linked ? <Link href={`/stories/${id}`}>{face}</Link> : <span>{face}</span>}
      {story?.state === "done" ? (
        <Badge tone="good">done</Badge>
      ) : story !== undefined ? (
        <Badge tone={story.runs.live > 0 ? "info" : "plain"}>{story.runs.live > 0 ? "active" : "open"}</Badge>
      ) : (
        ready && <Badge>archived</Badge>
      )}
    </>
  );
}
