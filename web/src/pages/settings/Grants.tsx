// The rules that were granted by answering "always", each with where it was asked and a way to take it back.
import { Link } from "wouter";
import { useQuery } from "../../api/query";
import { Button } from "../../ui/Button";
import { Age } from "../../ui/Numbers";
import { plain } from "../../ui/plain";
import { Loading, ProblemBox } from "../../ui/states";
import { Table } from "../../ui/Table";
import { Line } from "../../ui/Text";
import { attempt, say } from "../../ui/toast";
import { readLocal, revokeGrant } from "./data";

export function Grants() {
  const local = useQuery("local", readLocal);
  if (local.problem && !local.data) return <ProblemBox problem={local.problem} retry={local.reload} />;
  if (!local.data) return <Loading what="the local rules" />;
  const { grants, path } = local.data;
  const revoke = async (agent: string, rule: string) => {
    const worked = await attempt(() => revokeGrant(agent, rule));
    if (!worked) return;
    say(`${holder(agent)} asks again before it may ${rule}. Runs that have begun keep the rule.`);
    local.reload();
  };
  return (
    <>
      {grants.length === 0 ? (
        <p>No saved permissions. An approval in the inbox offers “always” with the exact rule.</p>
      ) : (
        <Table
          caption="Saved permissions"
          rows={grants.slice(0, 200)}
          id={(grant) => `${grant.agent} ${grant.rule}`}
          columns={[
            { name: "Rule", cell: (grant) => <code className="settings-rule">{plain(grant.rule)}</code> },
            { name: "Agent", cell: (grant) => <Line text={holder(grant.agent)} /> },
            {
              name: "Asked in",
              cell: (grant) =>
                grant.run == null ? "" : <Link href={`/runs/${grant.run}`}>{grant.story ?? grant.run}</Link>,
            },
            { name: "When", cell: (grant) => (grant.at == null ? "" : <Age at={grant.at} />) },
            {
              name: "Revoke",
              cell: (grant) => (
                <Button
                  label={`Revoke ${plain(grant.rule)} from ${plain(holder(grant.agent))}`}
                  onPress={() => void revoke(grant.agent, grant.rule)}
                >
                  Revoke
                </Button>
              ),
            },
          ]}
        />
      )}
      {grants.length > 200 && <p className="quiet">{grants.length - 200} more are in the file.</p>}
      <p className="quiet settings-path">
        Kept in <code>{plain(path)}</code>, outside of the repository.
      </p>
    </>
  );
}

/** Whom a rule was granted to, in words. */
function holder(agent: string): string {
  return agent === "*" ? "every agent" : agent;
}
