// Checks the imports of every package against the directions of ARCHITECTURE.md: between packages, and within each of them.
//   node boundaries.mjs             exit 1 on a violation, and on a run that saw no modules
//   node boundaries.mjs DIRECTORY   the same for another copy of the repository (the test that plants violations)
import { cruise } from "dependency-cruiser";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ALLOWED_DIRECTIONS, LAYERS } from "./directions.mjs";

const root = resolve(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)));
process.chdir(root);

const packages = Object.keys(ALLOWED_DIRECTIONS);
const onlyTo = ([name, targets]) => ({
  name: `${name}-imports-only-${targets.join("-or-") || "itself"}`,
  severity: "error",
  from: { path: `^packages/${name}/src/` },
  to: { path: "^packages/", pathNot: `^packages/(${[name, ...targets].join("|")})/` },
});

const { output } = await cruise(["packages"], {
  // Packages, and the modules that Node brings.
  includeOnly: { path: ["^packages/[^/]+/(src|dist)/", "^[a-z_]+$"] },
  doNotFollow: { path: "(^|/)(node_modules|dist)/" },
  // Imports of types are imports.
  tsPreCompilationDeps: true,
  enhancedResolveOptions: {
    exportsFields: ["exports"],
    conditionNames: ["node", "import", "default"],
  },
  validate: true,
  ruleSet: {
    forbidden: [
      ...Object.entries(ALLOWED_DIRECTIONS).map(onlyTo),
      { name: "circle", severity: "error", from: {}, to: { circular: true } },
      {
        name: "packages-import-others-by-name",
        severity: "error",
        from: { path: "^packages/([^/]+)/src/" },
        to: { path: "^packages/[^/]+/src/", pathNot: "^packages/$1/" },
      },
      {
        name: "what-browsers-load-is-runtime-neutral",
        comment:
          "Only the Node entry points of core may use Node's modules. The page loads the sender's explanations.",
        severity: "error",
        from: {
          path: "^packages/((core|protocol)/src/|sender/src/explain[./])",
          pathNot: "^packages/core/src/(node|platform-node|request/read-raw-body)\\.",
        },
        to: { dependencyTypes: ["core"] },
      },
    ],
  },
});

/** The parts of a module's path below `src`, after the package: `["sender", "engine", "lane.ts"]`. */
function partsOf(path) {
  const [, name, inner] = /^packages\/([^/]+)\/src\/(.+)$/.exec(path) ?? [];
  return inner === undefined ? [] : [name, ...inner.split("/")];
}

/** Where an import within a package parts ways: the place, and the two layers or files of it. */
function crossing(from, to) {
  const [a, b] = [partsOf(from), partsOf(to)];
  const depth = a.findIndex((part, index) => part !== b[index]);
  if (depth < 1 || b.length <= depth) return undefined;
  return { place: a.slice(0, depth).join("/"), from: a[depth], to: b[depth] };
}

/** The layer's place in the order; a file that is not listed stands above all. */
function heightOf(place, layer) {
  const index = LAYERS[place]?.indexOf(layer) ?? -1;
  return index === -1 && /\.tsx?$/.test(layer) ? Number.POSITIVE_INFINITY : index;
}

const imports = output.modules.flatMap(({ source, dependencies }) =>
  dependencies.map(({ resolved }) => ({ source, resolved, crossing: crossing(source, resolved) })),
);

/** Whether a chain of imports leads from one layer of a place back to another. */
function leadsBack(place, from, to, seen = new Set()) {
  if (from === to) return true;
  seen.add(from);
  return imports.some(
    ({ crossing: step }) =>
      step?.place === place &&
      step.from === from &&
      !seen.has(step.to) &&
      leadsBack(place, step.to, to, seen),
  );
}

const violations = output.summary.violations.map(({ rule, from, to, cycle }) =>
  cycle === undefined
    ? `${rule.name}: ${from} -> ${to}`
    : `circle: ${[from, ...cycle.map(({ name }) => name)].join(" -> ")}`,
);

for (const { source, resolved, crossing: step } of imports) {
  if (step === undefined) continue;
  const { place, from, to } = step;
  const [below, above] = [heightOf(place, from), heightOf(place, to)];
  // Two files on top of the same place: only a circle between them is wrong.
  if (below >= above) continue;
  const circle = leadsBack(place, to, from) ? ", and imports it: a circle" : "";
  violations.push(`up: ${source} -> ${resolved} (in ${place}, ${to} is above ${from}${circle})`);
}

const folders = new Set(
  output.modules.flatMap(({ source }) => {
    const parts = partsOf(source);
    return parts.slice(1, -1).map((folder, index) => [...parts.slice(0, index + 1), folder].join("/"));
  }),
);
for (const folder of folders) {
  const place = folder.slice(0, folder.lastIndexOf("/"));
  if (LAYERS[place]?.includes(folder.slice(place.length + 1))) continue;
  violations.push(
    `unordered: packages/${folder.replace("/", "/src/")} is in no list of LAYERS in tools/directions.mjs`,
  );
}

for (const text of violations) console.error(text);

const byName = output.modules.some(({ source, dependencies }) =>
  dependencies.some(({ module }) => source.startsWith("packages/express/") && module === "@countersign/core"),
);
if (!byName) console.error("Imports by package name cannot be resolved. Build the packages first.");
const seen = new Set(output.modules.map((module) => module.source.split("/")[1]));
const unlisted = [...seen].filter((name) => !packages.includes(name) && existsSync(`packages/${name}`));
if (unlisted.length > 0)
  console.error(
    `No directions for: ${unlisted.join(", ")}. Add to ALLOWED_DIRECTIONS in tools/directions.mjs.`,
  );
const unseen = packages.filter((name) => !seen.has(name));
if (unseen.length > 0)
  console.error(`Read no modules of: ${unseen.join(", ")}. The check would accept anything.`);
console.log(`${output.summary.totalCruised} modules, ${violations.length} violations`);
process.exit(violations.length + unlisted.length + unseen.length > 0 || !byName ? 1 : 0);
