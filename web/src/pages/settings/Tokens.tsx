// Who may come in: browsers and programs, each with a token of its own that can be taken back alone.
import { type FormEvent, useState } from "react";
import { useQuery } from "../../api/query";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { copy } from "../../ui/copy";
import { Dialog } from "../../ui/Dialog";
import { useKept } from "../../ui/kept";
import { Age } from "../../ui/Numbers";
import { plain } from "../../ui/plain";
import { Loading, ProblemBox } from "../../ui/states";
import { Table } from "../../ui/Table";
import { Line } from "../../ui/Text";
import { attempt, say } from "../../ui/toast";
import { addToken, readTokens, revokeToken, type Scope, type Token } from "./data";

const SCOPES: Record<Scope, string> = { full: "everything", operator: "operating the team (MCP)" };

export function Tokens() {
  const list = useQuery("tokens", readTokens);
  const [asked, setAsked] = useState<Token | null>(null);
  const [made, setMade] = useState<{ name: string; token: string } | null>(null);
  const revoke = async (token: Token) => {
    setAsked(null);
    if (!(await attempt(() => revokeToken(token.id)))) return;
    say(`${token.name} is signed out.`);
    if (!token.current) list.reload();
  };
  if (list.problem && !list.data) return <ProblemBox problem={list.problem} retry={list.reload} />;
  if (!list.data) return <Loading what="the tokens" />;
  const tokens = list.data;
  return (
    <>
      {tokens.length === 0 ? (
        <p>No browser and no program has a token of its own.</p>
      ) : (
        <Table
          caption="Tokens of browsers and programs"
          rows={tokens.slice(0, 100)}
          id={(token) => token.id}
          columns={[
            {
              name: "Name",
              cell: (token) => (
                <span className="token-name">
                  <Line text={token.name} longest={60} />
                  {token.current && <Badge tone="info">this browser</Badge>}
                </span>
              ),
            },
            { name: "Opens", cell: (token) => SCOPES[token.scope] },
            { name: "Made", cell: (token) => <Age at={token.made_at} /> },
            {
              name: "Used",
              cell: (token) => (token.last_used_at == null ? "never" : <Age at={token.last_used_at} />),
            },
            {
              name: "Revoke",
              cell: (token) => (
                <Button
                  label={`Revoke the token of ${plain(token.name)}`}
                  onPress={() => (token.current ? setAsked(token) : void revoke(token))}
                >
                  Revoke
                </Button>
              ),
            },
          ]}
        />
      )}
      <Add
        onMade={(name, token) => {
          setMade({ name, token });
          list.reload();
        }}
      />
      <Dialog title="Sign out this browser?" open={asked !== null} onClose={() => setAsked(null)}>
        <p>
          This page closes at once. Sign in again with a new link from <code>musher serve</code>, or with the
          token in the state directory.
        </p>
        <div className="dialog-foot">
          <Button kind="danger" onPress={() => asked && void revoke(asked)}>
            Sign out this browser
          </Button>
          <Button kind="quiet" hint="Esc" onPress={() => setAsked(null)}>
            Back
          </Button>
        </div>
      </Dialog>
      <Dialog
        title={`The token of ${plain(made?.name ?? "")}`}
        open={made !== null}
        onClose={() => setMade(null)}
      >
        <p>It is shown only once. It gives access to this server, so keep it like a password.</p>
        <code className="token-once">{made?.token}</code>
        <div className="dialog-foot">
          <Button kind="primary" onPress={() => void copy(made?.token ?? "", "the token")}>
            Copy
          </Button>
          <Button kind="quiet" hint="Esc" onPress={() => setMade(null)}>
            Done
          </Button>
        </div>
      </Dialog>
    </>
  );
}

function Add({ onMade }: { onMade(name: string, token: string): void }) {
  const [name, setName] = useKept("token-name");
  const [scope, setScope] = useState<Scope>("full");
  const add = async (event: FormEvent) => {
    event.preventDefault();
    const given = name.trim();
    if (given === "") return;
    await attempt(async () => {
      const made = await addToken(given, scope);
      setName("");
      onMade(made.name, made.token);
    });
  };
  return (
    <form className="token-add" onSubmit={add}>
      <label className="grow">
        Token name
        <input value={name} maxLength={80} onChange={(event) => setName(event.target.value)} />
      </label>
      <label>
        Access
        <select value={scope} onChange={(event) => setScope(event.target.value as Scope)}>
          <option value="full">{SCOPES.full}</option>
          <option value="operator">{SCOPES.operator}</option>
        </select>
      </label>
      <Button type="submit" isDisabled={name.trim() === ""}>
        Create token
      </Button>
    </form>
  );
}
