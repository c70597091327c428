// Loaded first, it makes `JSON.parse` take each key with an escape for one with a backslash, as it may since Node 23
// (nodejs/node#63785). The first text that the packages read shows them what it does.
const parse = JSON.parse;
JSON.parse = (text, reviver) =>
  parse(text.replaceAll(/"([^"\\]*)\\(?:u[0-9a-f]{4}|["\\])"(?=\s*:)/gi, String.raw`"$1\\"`), reviver);
