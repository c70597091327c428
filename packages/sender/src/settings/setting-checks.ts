import { type OptionHints, nameHint, unknownNames } from "@countersign/protocol";
import type { DestinationSettings, EndpointSettings, SourceSettings } from "./settings.ts";
import type { SettingsIssue } from "./settings-error.ts";

/** Settings come from files and forms, so nothing about them is taken for granted. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown } | null | undefined;

/** An item of any of the lists. */
export type UncheckedItem = Unchecked<SourceSettings & DestinationSettings & EndpointSettings>;

/** Checks values of settings, and gathers everything that is wrong. */
export class SettingChecks {
  readonly issues: SettingsIssue[] = [];

  issue(path: string, where: string, problem: string): void {
    this.issues.push({ path, where, problem });
  }

  /** A misspelt setting would be one that is not there. */
  names(
    item: unknown,
    names: Readonly<Record<string, unknown>>,
    path: string,
    where: string,
    hints: OptionHints = {},
  ): void {
    for (const name of unknownNames(item, names)) {
      const problem = `is an unknown setting${nameHint(name, names, hints)}`;
      this.issue(path === "" ? name : `${path}.${name}`, where, problem);
    }
  }

  /** The name of an item, which no other item of its list has. */
  name(
    value: unknown,
    path: string,
    where: string,
    taken: Set<string>,
    fallback: string | undefined,
  ): string {
    const name = value ?? fallback;
    if (typeof name !== "string" || !/^(?!\.{1,2}$)[^/\p{Cc}\p{Cs}]+$/u.test(name)) {
      this.issue(
        path,
        where,
        "must be a non-empty string without slashes and control characters, and neither . nor .., as a part of a URL.",
      );
      return typeof name === "string" ? name : "";
    }
    if (taken.has(name))
      this.issue(path, where, `is ${JSON.stringify(name)}, which another one has already.`);
    taken.add(name);
    return name;
  }

  flag(value: unknown, path: string, where: string, fallback: boolean): boolean {
    if (value === undefined || value === null) return fallback;
    if (typeof value !== "boolean") this.issue(path, where, "must be true or false.");
    return value === true;
  }

  /** A list of at least one item. */
  list(value: unknown, path: string, where: string, problem: string): readonly UncheckedItem[] {
    const list = this.array(value, path, where, problem);
    if (Array.isArray(value) && list.length === 0) this.issue(path, where, problem);
    return list;
  }

  array(value: unknown, path: string, where: string, problem: string): readonly UncheckedItem[] {
    if (Array.isArray(value)) return value;
    this.issue(path, where, problem);
    return [];
  }
}
