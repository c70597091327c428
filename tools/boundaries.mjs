// Holds the imports of every package to the directions of ARCHITECTURE.md.
//   node boundaries.mjs          exit 1 on a violation, and on a run that saw no modules
//   node boundaries.mjs DIRECTORY   the same, over another copy of the repository (used by the test that plants one)
import { cruise } from "dependency-cruiser";
import { resolve } from "node:path";
import { allowedDirections } from "./directions.mjs";

const root = resolve(process.argv[2] ?? new URL("..", import.meta.url).pathname);
process.chdir(root);

const packages = Object.keys(allowedDirections);
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
  tsPreCompilationDeps: true,
  enhancedResolveOptions: {
    exportsFields: ["exports"],
    conditionNames: ["node", "import", "default"],
  },
  validate: true,
  ruleSet: {
    forbidden: [
      ...Object.entries(allowedDirections).map(onlyTo),
      {
        name: "no-cycles",
        severity: "error",
        from: {},
        to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
      },
      {
        name: "packages-import-others-by-name",
        severity: "error",
        from: { path: "^packages/([^/]+)/src/" },
        to: { path: "^packages/[^/]+/src/", pathNot: "^packages/$1/" },
      },
      {
        name: "core-and-protocol-are-runtime-neutral",
        comment: "Only the Node entry points of core may use Node's modules.",
        severity: "error",
        from: { path: "^packages/(core|protocol)/src/", pathNot: "^packages/core/src/(node|hmac-node)" },
        to: { dependencyTypes: ["core"] },
      },
    ],
  },
});

const byName = output.modules.some(({ source, dependencies }) =>
  dependencies.some(({ module }) => source.startsWith("packages/express/") && module === "@countersign/core"),
);
if (!byName) console.error("Imports by package name are not followed: build the packages first.");
const seen = new Set(output.modules.map((module) => module.source.split("/")[1]));
const unseen = packages.filter((name) => !seen.has(name));
for (const { rule, from, to } of output.summary.violations) console.error(`${rule.name}: ${from} -> ${to}`);
console.log(`${output.summary.totalCruised} modules, ${output.summary.violations.length} violations`);
if (unseen.length > 0)
  console.error(`No module was read of: ${unseen.join(", ")}. The check would pass on anything.`);
process.exit(output.summary.violations.length > 0 || unseen.length > 0 || !byName ? 1 : 0);
