// A form that a tool server wants filled in, made from its schema as far as that is simple, else as JSON.
import { type FormEvent, useId, useRef, useState } from "react";
import type { Ask, AskBody } from "../../api/words";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Markdown } from "../../ui/Markdown";
import { plain } from "../../ui/plain";
import type { Give } from "./Answering";
import { useDraft } from "./drafts";

type FormBody = Extract<AskBody, { kind: "form" }>;

interface Field {
  name: string;
  title: string;
  about: string;
  kind: "text" | "number" | "boolean" | "choice";
  choices: string[];
  required: boolean;
}

interface Props {
  ask: Ask;
  form: FormBody;
  /** The heading under which the sheet of keys names them. */
  group: string;
  /** Whether the keys mean this one. */
  active: boolean;
  give: Give;
}

export function FormAsk({ ask, form, group, active, give }: Props) {
  const box = useRef<HTMLFormElement>(null);
  const fields = fieldsOf(form.schema);
  const [draft, change] = useDraft(ask);
  const values = draft.fields ?? {};
  const json = draft.json ?? "{}";
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    try {
      const content =
        fields === null ? (JSON.parse(json) as Record<string, never>) : contentOf(fields, values);
      give({ decision: "form", content: content as Record<string, never> }, `Answered ${ask.agent}`);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const put = (name: string, value: string | boolean) => change({ fields: { ...values, [name]: value } });
  useActions(group, [
    {
      id: "inbox.fill",
      words: "Fill in the form",
      keys: ["i"],
      off: !active,
      stays: true,
      run: () => box.current?.querySelector<HTMLElement>("input, select, textarea")?.focus(),
    },
  ]);
  return (
    <form className="questions" ref={box} onSubmit={submit}>
      <p className="quiet">{plain(form.server)} asks:</p>
      <Markdown text={form.message} />
      {form.url !== undefined && /^https?:/.test(form.url) && (
        <a href={form.url} target="_blank" rel="noopener noreferrer">
          {plain(form.url)}
        </a>
      )}
      {fields === null ? (
        <label>
          The answer as JSON
          <textarea
            rows={6}
            value={json}
            onChange={(event) => change({ json: event.target.value })}
            spellCheck={false}
          />
        </label>
      ) : (
        fields.map((field) => <Input key={field.name} field={field} value={values[field.name]} put={put} />)
      )}
      {problem !== null && <p role="alert">{problem}</p>}
      <div className="ask-buttons">
        <Button kind="primary" type="submit" hint="Enter">
          Send
        </Button>
      </div>
    </form>
  );
}

interface InputProps {
  field: Field;
  value: string | boolean | undefined;
  put(name: string, value: string | boolean): void;
}

function Input({ field, value, put }: InputProps) {
  const id = useId();
  const label = (
    <label htmlFor={id}>
      {plain(field.title)}
      {field.required && " (needed)"}{" "}
      {field.about !== "" && <span className="quiet">{plain(field.about)}</span>}
    </label>
  );
  if (field.kind === "boolean") {
    return (
      <div className="option">
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          onChange={(event) => put(field.name, event.target.checked)}
        />
        {label}
      </div>
    );
  }
  return (
    <div className="form-field">
      {label}
      {field.kind === "choice" ? (
        <select id={id} value={String(value ?? "")} onChange={(event) => put(field.name, event.target.value)}>
          <option value="">Choose…</option>
          {field.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          type={field.kind === "number" ? "number" : "text"}
          step="any"
          required={field.required}
          value={String(value ?? "")}
          onChange={(event) => put(field.name, event.target.value)}
        />
      )}
    </div>
  );
}

/** The fields of a schema of plain values, or null for any other. */
function fieldsOf(schema: unknown): Field[] | null {
  const { properties, required = [] } = (schema ?? {}) as {
    properties?: Record<string, { type?: string; title?: string; description?: string; enum?: unknown[] }>;
    required?: string[];
  };
  if (typeof properties !== "object" || properties === null) return null;
  const needs: unknown[] = Array.isArray(required) ? required : [];
  const fields: Field[] = [];
  for (const [name, about] of Object.entries(properties)) {
    const kind = Array.isArray(about.enum) ? "choice" : KINDS[about.type ?? ""];
    if (kind === undefined) return null;
    const choices = (about.enum ?? []).map(String);
    fields.push({
      name,
      title: about.title ?? name,
      about: about.description ?? "",
      kind,
      choices,
      required: needs.includes(name),
    });
  }
  // What is needed comes first, in the order in which the schema needs it.
  const place = ({ name, required }: Field) => (required ? needs.indexOf(name) : needs.length);
  return fields.sort((a, b) => place(a) - place(b));
}

const KINDS: Record<string, Field["kind"]> = {
  string: "text",
  number: "number",
  integer: "number",
  boolean: "boolean",
};

function contentOf(fields: Field[], values: Record<string, string | boolean>): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const field of fields) {
    const value = values[field.name];
    if (field.kind === "boolean") content[field.name] = value === true;
    else if (value !== undefined && value !== "")
      content[field.name] = field.kind === "number" ? Number(value) : value;
    else if (field.required) throw new Error(`${field.title} is needed.`);
  }
  return content;
}
