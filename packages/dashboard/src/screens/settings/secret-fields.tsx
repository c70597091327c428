import type { JSX } from "preact";
import { Segments } from "../../parts/choice.tsx";
import { Field } from "../../parts/field.tsx";
import type { Draft } from "./draft.ts";

const FOR_NEW = [
  ["set", "Set one"],
  ["none", "None"],
] as const;
const FOR_KNOWN = [
  ["keep", "Keep it"],
  ["set", "Replace it"],
  ["none", "None"],
] as const;

interface Props {
  readonly draft: Draft;
  readonly error: string;
  readonly onChange: (changes: Partial<Draft>) => void;
}

/** The shared secret: kept, replaced, or none. It is never shown. */
export function SecretFields({ draft, error, onChange }: Props): JSX.Element {
  const { secret, newSecret, isNew } = draft;
  return (
    <>
      <Segments
        label="Shared secret"
        value={secret}
        options={isNew ? FOR_NEW : FOR_KNOWN}
        onPick={(picked) => onChange({ secret: picked as Draft["secret"] })}
      />
      {secret === "set" && (
        <Field
          label="Secret"
          type="password"
          required
          error={error}
          hint="Messages are signed with it. It is not shown again."
          value={newSecret}
          onInput={(value) => onChange({ newSecret: value })}
        />
      )}
      {secret === "keep" && <p class="note">Set, and not shown.</p>}
      {secret === "none" && (
        <p class="note">Messages are not signed: a receiver cannot tell who sends them.</p>
      )}
    </>
  );
}
