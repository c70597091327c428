// Checks two conventions that no linter knows in every file:
//   - a module's constant with a literal, a regular expression or a table of data is UPPER_SNAKE_CASE
//   - the spec is cited as "(spec 2.3)", or "(spec 2.3, 7)" for several sections, and in no other form
// Exit 1 on a violation, and on a run that saw no files.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const SOURCES =
  /^(?:packages\/[^/]+\/(?:src|test|bench)|tests|tools|scripts|examples\/[^/]+\/src)\/.*\.(?:ts|mjs)$/;
const TEXTS = /^(?:docs\/.*|packages\/[^/]+\/README|[A-Z]+)\.md$/;
const SKIPPED = /(?:^|\/)(?:node_modules|dist|\.git)(?:\/|$)/;
const CITATION = /\(spec \d+(?:\.\d+)*(?:, \d+(?:\.\d+)*)*\)/g;
const LOOSE_CITATION = /\bspec(?:,? section| chapter| §)? ?\d+(?:\.\d+)*/gi;

function filesBelow(folder) {
  return readdirSync(`${root}${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const path = folder + entry.name;
    if (SKIPPED.test(path)) return [];
    return entry.isDirectory() ? filesBelow(`${path}/`) : [path];
  });
}

/** Whether an expression is data that the source spells out. */
function isData(node) {
  if (ts.isAsExpression(node) || ts.isSatisfiesExpression(node) || ts.isParenthesizedExpression(node))
    return isData(node.expression);
  if (ts.isPrefixUnaryExpression(node)) return isData(node.operand);
  if (ts.isBinaryExpression(node)) return isData(node.left) && isData(node.right);
  if (ts.isArrayLiteralExpression(node)) return node.elements.length > 0 && node.elements.every(isData);
  if (ts.isObjectLiteralExpression(node)) {
    const isProperty = (property) => ts.isPropertyAssignment(property) && isData(property.initializer);
    return node.properties.length > 0 && node.properties.every(isProperty);
  }
  if (ts.isNewExpression(node)) {
    return /^(?:Set|Map)$/.test(node.expression.getText()) && (node.arguments ?? []).some(isData);
  }
  if (ts.isIdentifier(node)) return isUpper(node.text);
  return ts.isLiteralExpression(node) || /^(?:true|false|null)$/.test(node.getText());
}

function isUpper(name) {
  return /^[A-Z][A-Z0-9_]*$/.test(name);
}

function* misnamedConstants(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    if (!(statement.declarationList.flags & ts.NodeFlags.Const)) continue;
    for (const { name, initializer } of statement.declarationList.declarations) {
      if (initializer === undefined || !ts.isIdentifier(name)) continue;
      if (isUpper(name.text) || !isData(initializer)) continue;
      const { line } = source.getLineAndCharacterOfPosition(name.getStart());
      const upper = name.text.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase();
      yield { line: line + 1, text: `${name.text} contains data: call it ${upper}` };
    }
  }
}

function* looseCitations(text) {
  for (const [index, line] of text.split("\n").entries()) {
    for (const [found] of line.replaceAll(CITATION, "").matchAll(LOOSE_CITATION)) {
      yield { line: index + 1, text: `${JSON.stringify(found)}: cite the spec as "(spec 2.3)"` };
    }
  }
}

const files = filesBelow("").filter((file) => SOURCES.test(file) || TEXTS.test(file));
let violations = 0;
for (const file of files) {
  const text = readFileSync(`${root}${file}`, "utf8");
  const found = [...(SOURCES.test(file) ? misnamedConstants(file, text) : []), ...looseCitations(text)];
  violations += found.length;
  for (const { line, text: problem } of found) console.error(`${file}:${line}: ${problem}`);
}
console.log(`${files.length} files, ${violations} violations`);
process.exit(violations > 0 || files.length < 100 ? 1 : 0);
