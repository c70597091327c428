// Imports modules one after another, and sends how many milliseconds of CPU time the last one took:
// importer.js MODULE...
let used = 0;
for (const name of process.argv.slice(2)) {
  const start = process.cpuUsage();
  await import(name);
  const { user, system } = process.cpuUsage(start);
  used = (user + system) / 1_000;
}
process.send?.(used);
