// What a story asks for, small enough for a card: its priority, its labels, what it comes after and its budget.
import { Link } from "wouter";
import type { Story } from "../../api/words";
import { Money } from "../Numbers";
import { oneLine } from "../plain";
import { budgetWords, priorityWords, USUAL_PRIORITY, usedUp } from "./spec";

/** So many labels or stories are named; the others are counted. */
const NAMED = 3;

/** The priority, unless it is the usual one. */
export function PriorityMark({ priority }: { priority: number }) {
  if (priority === USUAL_PRIORITY) return null;
  const { words, sign } = priorityWords(priority);
  const tone = priority > USUAL_PRIORITY ? " high" : "";
  return (
    <span className={`story-chip priority${tone}`} title={`Priority ${priority} of 4`}>
      {sign !== "" && <span aria-hidden="true">{sign}</span>}
      <span className="unseen">Priority: </span>
      {words}
    </span>
  );
}

export function LabelMarks({ labels }: { labels: readonly string[] }) {
  const more = labels.slice(NAMED);
  return (
    <>
      {labels.slice(0, NAMED).map((label) => (
        <span key={label} className="story-chip" title={`Label ${label}`}>
          {oneLine(label, 24)}
        </span>
      ))}
      {more.length > 0 && (
        <span className="story-chip" title={`Also ${more.join(", ")}`}>
          +{more.length}
        </span>
      )}
    </>
  );
}

/** The open stories that come first, each as a link. */
export function AfterMark({ after, focusable = true }: { after: readonly string[]; focusable?: boolean }) {
  if (after.length === 0) return null;
  const more = after.length - NAMED;
  return (
    <span className="after-mark" title="Its runs wait until these stories are done">
      after{" "}
      {after.slice(0, NAMED).map((id, at) => (
        <span key={id}>
          {at > 0 && ", "}
          <Link href={`/stories/${id}`} tabIndex={focusable ? 0 : -1} draggable={false}>
            {id}
          </Link>
        </span>
      ))}
      {more > 0 && ` +${more}`}
    </span>
  );
}

/** What was spent, and of which budget. */
export function StoryCost({ story }: { story: Pick<Story, "budget_usd" | "spent"> }) {
  if (story.budget_usd == null) return <Money spent={story.spent} />;
  const gone = usedUp(story);
  return (
    <span
      className={gone ? "budget gone" : "budget"}
      title={gone ? "The budget is used up" : "Cost / budget"}
    >
      {gone && <span aria-hidden="true">✕ </span>}
      <Money spent={story.spent} /> / {budgetWords(story.budget_usd)}
      {gone && <span className="unseen"> (budget used up)</span>}
    </span>
  );
}
