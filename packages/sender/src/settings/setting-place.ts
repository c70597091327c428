import { type OptionHints, nameHint, unknownNames } from "@countersign/protocol";
import type { DestinationSettings, EndpointSettings, SourceSettings } from "./settings.ts";
import type { SettingsIssue } from "./settings-error.ts";

/** Settings come from files and forms, so nothing about them is taken for granted. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown } | null | undefined;

/** An item of any of the lists. */
export type UncheckedItem = Unchecked<SourceSettings & DestinationSettings & EndpointSettings>;

/** A place in settings: checks what is there, and adds what is wrong to a list. */
export class SettingPlace {
  readonly #issues: SettingsIssue[];
  readonly #path: string;
  readonly #where: string;

  /** @param where The place in words. */
  constructor(issues: SettingsIssue[], path = "", where = "") {
    this.#issues = issues;
    this.#path = path;
    this.#where = where;
  }

  /** A setting at this place. */
  field(name: string): SettingPlace {
    const path = this.#path === "" ? name : `${this.#path}.${name}`;
    return new SettingPlace(this.#issues, path, this.#where);
  }

  /** An item of the list, or an entry of the object, at this place. */
  item(key: number | string): SettingPlace {
    return new SettingPlace(this.#issues, `${this.#path}[${JSON.stringify(key)}]`, this.#where);
  }

  /** This place, whose words end with these. */
  called(words: string): SettingPlace {
    const where = this.#where === "" ? words : `${this.#where}, ${words}`;
    return new SettingPlace(this.#issues, this.#path, where);
  }

  issue(problem: string): void {
    this.#issues.push({ path: this.#path, where: this.#where, problem });
  }

  /** A misspelt setting would be one that is not there. */
  names(item: unknown, names: Readonly<Record<string, unknown>>, hints: OptionHints = {}): void {
    for (const name of unknownNames(item, names))
      this.field(name).issue(`is an unknown setting${nameHint(name, names, hints)}`);
  }

  /** Refuses a setting that is there and undefined: mostly, the variable of the environment that it comes from is not set. */
  isSet<T extends object>(item: T | null | undefined, name: keyof T & string, otherwise: string): boolean {
    if (!item || !Object.hasOwn(item, name) || item[name] !== undefined) return true;
    const problem = `is undefined: set the variable that it comes from, or leave it out to ${otherwise}.`;
    this.field(name).issue(problem);
    return false;
  }

  /** The name of an item, which no other item of its list has. */
  name(value: unknown, taken: Set<string>, fallback?: string): string {
    const name = value ?? fallback;
    if (typeof name !== "string" || !/^(?!\.{1,2}$)[^/\p{Cc}\p{Cs}]+$/u.test(name)) {
      this.issue(
        "must be a non-empty string without slashes and control characters, and neither . nor .., as a part of a URL.",
      );
      return typeof name === "string" ? name : "";
    }
    if (taken.has(name)) this.issue(`is ${JSON.stringify(name)}, which another one has already.`);
    taken.add(name);
    return name;
  }

  flag(value: unknown, fallback: boolean): boolean {
    if (value === undefined || value === null) return fallback;
    if (typeof value !== "boolean") this.issue("must be true or false.");
    return value === true;
  }

  /** A list of at least one item. */
  list(value: unknown, problem: string): readonly UncheckedItem[] {
    const list = this.array(value, problem);
    if (Array.isArray(value) && list.length === 0) this.issue(problem);
    return list;
  }

  array(value: unknown, problem: string): readonly UncheckedItem[] {
    if (Array.isArray(value)) return value;
    this.issue(problem);
    return [];
  }
}
