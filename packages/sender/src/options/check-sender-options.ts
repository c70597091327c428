import type {
  EngineOptions,
  SenderOptions,
  SingleEndpointOptions,
  SourcesOptions,
  TargetOptions,
} from "../sender-options.ts";
import { checkOptionNames, type Hints, type Names } from "./option-names.ts";

const engineNames: Names<EngineOptions> = {
  store: true,
  clock: true,
  retry: true,
  attemptTimeout: true,
  seed: true,
  blockPrivateNetworks: true,
  transport: true,
};
const urlNames: Names<SingleEndpointOptions> = {
  url: true,
  headers: true,
  ca: true,
  sharedSecret: true,
  ...engineNames,
};
const targetNames: Names<TargetOptions> = {
  target: true,
  path: true,
  headers: true,
  sharedSecret: true,
  ...engineNames,
};
const sourcesNames: Names<SourcesOptions> = { sources: true, ...engineNames };

const forms = ["url", "target", "sources"] as const;
const namesOf: Readonly<Record<(typeof forms)[number], Readonly<Record<string, true>>>> = {
  url: urlNames,
  target: targetNames,
  sources: sourcesNames,
};

const hints: Hints = {
  secret: "it is called sharedSecret here",
  timeout: "it is called attemptTimeout here",
};

/** What the short forms take for their one endpoint belongs to one of several here. */
const sourcesHints: Hints = {
  ...hints,
  secret: "a destination has it, as sources[0].destinations[0].sharedSecret",
  sharedSecret: "a destination has it, as sources[0].destinations[0].sharedSecret",
  headers: "an endpoint has them, as sources[0].destinations[0].endpoints[0].headers",
  ca: "an endpoint has it, as sources[0].destinations[0].endpoints[0].ca",
};

/**
 * Refuses options that say in no way, or in several, where messages go, and names of options that do not exist.
 *
 * @throws TypeError saying what to give instead
 */
export function checkSenderOptions(options: SenderOptions): void {
  const given: unknown = options;
  if (typeof given === "string" || given instanceof URL) {
    throw new TypeError(
      `createSender() takes an object: createSender({ url: ${JSON.stringify(String(given))} }).`,
    );
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw whereTo("");
  const wanted = forms.filter((form) => form in given);
  const [form, other] = wanted;
  if (form === undefined) throw whereTo("");
  if (other !== undefined) {
    throw new TypeError(
      `createSender({ ${wanted.join(", ")} }) is given ${wanted.length} ways to say where messages go: leave all but one out.`,
    );
  }
  const value: unknown = Reflect.get(given, form);
  if (value === undefined || value === null) throw whereTo(` Its ${form} is ${String(value)}.`);
  const hintsOfForm = form === "sources" ? sourcesHints : hints;
  checkOptionNames(`createSender({ ${form} })`, given, namesOf[form], hintsOfForm);
}

function whereTo(what: string): TypeError {
  return new TypeError(
    `createSender() must be told where messages go.${what} Give it a url, a target or sources: ` +
      'createSender({ url: "https://example.com/hooks" }) for one endpoint, createSender({ target: app }) to test an ' +
      'application, createSender({ sources: [{ name: "shop", destinations: [{ endpoints: [{ url }] }] }] }) for several.',
  );
}
