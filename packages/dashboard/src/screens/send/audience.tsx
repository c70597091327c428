import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../data/api.ts";
import { Field } from "../../parts/field.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { useSource } from "./use-source.tsx";
import { plural, wordsOf } from "../../words/format.ts";

interface SyncReceipt {
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  readonly skipped?: string;
}

/** Syncs an audience: who joined and who left since the last time gets an identify message. */
export function Audience(): JSX.Element {
  const [name, setName] = useState("");
  const [users, setUsers] = useState("");
  const source = useSource();
  const [done, setDone] = useState<SyncReceipt>();
  const { run, failure } = useAction();
  const userIds = users
    .trim()
    .split(/\s*[\n,]\s*/)
    .filter(Boolean);
  const submit = (): void =>
    run(async () => {
      setDone(undefined);
      const body = { userIds, ...source.query };
      setDone(
        (await call<SyncReceipt>("PUT", `/audiences/${encodeURIComponent(name.trim())}`, { body })).data,
      );
    });
  return (
    <form class="card stack" onSubmit={submit} aria-label="Sync an audience">
      <h3>Audience</h3>
      <p class="note">Each user who joined or left since the last sync gets an identify message.</p>
      <Field label="Name of the audience" value={name} onInput={setName} required />
      <Field
        label="User ids"
        hint={`One on a line. ${plural(userIds.length, "user")}; all others leave.`}
        value={users}
        onInput={setUsers}
        rows={6}
      />
      {source.choice}
      <div class="actions">
        <button type="submit" class="primary">
          Sync
        </button>
        {failure}
        {done && <span role="status">{resultOf(done)}</span>}
      </div>
    </form>
  );
}

function resultOf({ changed, removed, skipped }: SyncReceipt): string {
  if (skipped !== undefined) return `Nothing was sent: ${wordsOf(skipped)}.`;
  return `${changed.length} joined or changed, ${removed.length} left.`;
}
