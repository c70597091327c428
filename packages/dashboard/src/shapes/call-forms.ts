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

/** A call made of what was typed; or which of its fields is no JSON. */
export function callOf(
  type: string,
  values: Values,
): { readonly call: object } | { readonly field: string; readonly error: string } {
  const call: [string, unknown][] = [["type", type]];
  for (const { name, json = false } of CALL_FORMS[type] ?? []) {
    const text = values[name]?.trim() ?? "";
    if (text === "") continue;
    if (!json) {
      call.push([name, text]);
      continue;
    }
    try {
      call.push([name, JSON.parse(text)]);
    } catch {
      return { field: name, error: "This is not JSON." };
    }
  }
  return { call: Object.fromEntries(call) };
}
