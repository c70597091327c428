// A sender on a disk that gets full. Accepts messages until one is refused, says which were accepted, and goes on when
// it is told that there is room.
import { createSender, sqliteStore } from "@countersign/sender";

const [url, path] = process.argv.slice(2);
const told = ({ name, code, message }) => ({ name, code, message });

const sender = await createSender({ url, store: sqliteStore({ path }) });
sender.once("storeError", ({ error }) => process.send({ storeError: told(error) }));
const accepted = [];
process.once("message", () => void goOn());
process.send({ refused: told(await fill()), accepted });

async function fill() {
  for (;;) {
    const messageId = `m${accepted.length}`;
    try {
      await sender.identify({ userId: "u1", messageId, traits: { filler: "x".repeat(20_000) } });
      accepted.push(messageId);
    } catch (error) {
      return error;
    }
  }
}

async function goOn() {
  let isTaken = false;
  while (!isTaken) {
    // The store has recovered when it takes one again.
    isTaken = await sender.track({ userId: "u1", event: "There is room" }).then(
      () => true,
      () => false,
    );
  }
  await sender.idle();
  await sender.close();
  process.send({ closed: true });
  process.disconnect();
}
