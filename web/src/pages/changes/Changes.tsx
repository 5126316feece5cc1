// What a run has changed, file by file.
import { useParams } from "wouter";
import { api, take } from "../../api/client";
import { useQuery } from "../../api/query";
import { PlusMinus } from "../../ui/Numbers";
import { Empty, Loading, ProblemBox } from "../../ui/states";
import { Line } from "../../ui/Text";

export default function Changes() {
  const { run = "" } = useParams();
  const diff = useQuery(run, () => take(api.GET("/api/v1/runs/{run}/diff", { params: { path: { run } } })));
  if (diff.problem) return <ProblemBox problem={diff.problem} retry={diff.reload} />;
  if (!diff.data) return <Loading what="the changes" />;
  if (diff.data.files.length === 0)
    return <Empty title="Nothing has changed">The branch is as it was.</Empty>;
  return (
    <ul className="changes">
      {diff.data.files.slice(0, 200).map((file) => (
        <li key={file.path}>
          <Line text={file.path} /> <PlusMinus lines={file} />
        </li>
      ))}
    </ul>
  );
}
