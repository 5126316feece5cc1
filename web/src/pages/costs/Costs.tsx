// What the work has cost, day by day.
import { api, take } from "../../api/client";
import { useQuery } from "../../api/query";
import { Money } from "../../ui/Numbers";
import { Empty, Loading, ProblemBox } from "../../ui/states";
import { Table } from "../../ui/Table";

export default function Costs() {
  const days = useQuery("days", () => take(api.GET("/api/v1/usage", { params: { query: { by: "day" } } })));
  if (days.problem) return <ProblemBox problem={days.problem} retry={days.reload} />;
  if (!days.data) return <Loading what="the costs" />;
  if (days.data.rows.length === 0)
    return <Empty title="Nothing was spent yet">Costs appear with the first run.</Empty>;
  return (
    <div className="costs">
      <h2>Costs</h2>
      <Table
        caption="Costs by day"
        rows={days.data.rows}
        id={(row) => row.key ?? ""}
        columns={[
          { name: "Day", cell: (row) => new Date(Number(row.key)).toLocaleDateString() },
          { name: "Cost", cell: (row) => <Money spent={row.spent} />, number: true },
        ]}
      />
    </div>
  );
}
