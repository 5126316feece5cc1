// The board: the stories by where they are, and one line to add another.
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { api, take } from "../../api/client";
import type { Story } from "../../api/words";
import { useLive } from "../../live/hooks";
import { Button } from "../../ui/Button";
import { Money } from "../../ui/Numbers";
import { Empty, Loading } from "../../ui/states";
import { Line } from "../../ui/Text";
import { attempt } from "../../ui/toast";
import { VirtualList } from "../../ui/VirtualList";

export default function Board() {
  const ready = useLive((world) => world.ready);
  const stories = useLive((world) => [...world.stories.values()].sort((a, b) => b.n - a.n));
  if (!ready) return <Loading what="the board" />;
  return (
    <div className="board">
      <h2>Board</h2>
      <NewStory />
      {stories.length === 0 ? (
        <Empty title="No stories yet">Write what you want in one line above.</Empty>
      ) : (
        <VirtualList
          items={stories}
          id={(story) => story.id}
          estimate={40}
          label="Stories"
          row={(story) => <Card story={story} />}
        />
      )}
    </div>
  );
}

function NewStory() {
  const [title, setTitle] = useState("");
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if (await attempt(() => take(api.POST("/api/v1/stories", { body: { title } })))) setTitle("");
  };
  return (
    <form className="new-story" onSubmit={add}>
      <input
        aria-label="A new story in one line"
        value={title}
        onChange={(event) => setTitle(event.target.value)}
      />
      <Button type="submit" isDisabled={title.trim() === ""}>
        Add
      </Button>
    </form>
  );
}

function Card({ story }: { story: Story }) {
  return (
    <Link href={`/stories/${story.id}`} className="board-row">
      <Line text={story.title ?? story.id} />
      <span className="quiet">
        {story.state}, {story.runs.live} at work, <Money spent={story.spent} />
      </span>
    </Link>
  );
}
