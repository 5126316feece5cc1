// Losses in the state directory, above every page until somebody acknowledges them.
import { api, take } from "../api/client";
import { useQuery } from "../api/query";
import { Button } from "../ui/Button";
import { Line } from "../ui/Text";
import { attempt } from "../ui/toast";

export function Notices() {
  const { data, reload } = useQuery("notices", () => take(api.GET("/api/v1/notices")));
  const found = data?.notices ?? [];
  const newest = found.at(-1);
  if (newest === undefined) return null;
  const dismiss = () =>
    attempt(async () => {
      await take(api.POST("/api/v1/notices/acknowledge", { body: { through: newest.at } }));
      reload();
    });
  return (
    <section className="banner warn" aria-label="Data loss">
      <ul className="notices">
        {found.map((notice) => (
          <li key={`${notice.at} ${notice.text}`}>
            <Line text={notice.text} longest={600} />
          </li>
        ))}
      </ul>
      <Button onPress={() => void dismiss()}>Dismiss</Button>
    </section>
  );
}
