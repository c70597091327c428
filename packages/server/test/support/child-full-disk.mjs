// Writes settings and a recording where files cannot grow beyond 4 KiB, and tells what the errors were.
import { openRecorder } from "../../dist/recording/recorder.js";
import { SettingsBook } from "../../dist/settings/settings-book.js";

const [data] = process.argv.slice(2);
const source = (bytes) => ({
  name: "s",
  destinations: [{ url: "http://127.0.0.1:9/", secret: "s".repeat(bytes) }],
});
const book = new SettingsBook([], { path: `${data}/settings.json` });
const errors = [];

book.save([source(1)]);
try {
  book.save([source(8_192)]);
} catch (error) {
  errors.push(error.message);
}

const file = `${data}/traffic.jsonl`;
const recorder = openRecorder({ file, now: () => 0, onError: (error) => errors.push(error.message) });
for (const bytes of [10, 8_192, 11]) {
  recorder.record({ url: "http://127.0.0.1:9/", headers: {}, body: Buffer.alloc(bytes, "x") });
}
recorder.close();
process.stdout.write(JSON.stringify(errors));
