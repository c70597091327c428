/** One field of the form of a call. */
export interface CallField {
  readonly name: string;
  readonly label: string;
  readonly required?: boolean;
  /** An object, written as JSON. */
  readonly json?: boolean;
}

const USER: readonly CallField[] = [
  { name: "userId", label: "User id" },
  { name: "anonymousId", label: "Anonymous id" },
];
const PROPERTIES: CallField = { name: "properties", label: "Properties", json: true };
const TRAITS: CallField = { name: "traits", label: "Traits", json: true };
const NAMED: readonly CallField[] = [
  { name: "name", label: "Name" },
  { name: "category", label: "Category" },
];

/** The seven types of message, each with the fields of its form. */
export const CALL_FORMS: Readonly<Record<string, readonly CallField[]>> = {
  track: [{ name: "event", label: "Event", required: true }, ...USER, PROPERTIES],
  identify: [...USER, TRAITS],
  page: [...NAMED, ...USER, PROPERTIES],
  screen: [...NAMED, ...USER, PROPERTIES],
  group: [{ name: "groupId", label: "Group id", required: true }, ...USER, TRAITS],
  alias: [
    { name: "userId", label: "New user id", required: true },
    { name: "previousId", label: "Previous id", required: true },
  ],
  delete: [{ name: "userId", label: "User id", required: true }],
};

/** What was typed into the fields, by name. */
export type Values = Readonly<Record<string, string>>;

/** The JSON of a call; or which of its fields is no JSON. It is what was typed: a number that was read may have lost digits. */
export type Typed = { readonly call: string } | { readonly field: string; readonly error: string };

/** A call made of what was typed. */
export function callOf(type: string, values: Values): Typed {
  const fields: [name: string, json: string][] = [["type", JSON.stringify(type)]];
  for (const { name, json = false } of CALL_FORMS[type] ?? []) {
    const text = values[name]?.trim() ?? "";
    if (!text) continue;
    if (!json) {
      fields.push([name, JSON.stringify(text)]);
      continue;
    }
    try {
      JSON.parse(text);
      fields.push([name, text]);
    } catch {
      return { field: name, error: "This is not JSON." };
    }
  }
  return { call: `{\n${fields.map(([name, json]) => `  "${name}": ${json}`).join(",\n")}\n}` };
}
