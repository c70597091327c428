// Loaded into a command by --import. The documented examples name the ports that people use, such as 3000 and 4010, which
// may be taken on the machine that runs the tests. This moves them, so that the examples can be run word for word.
import net from "node:net";

const moved = new Map(
  (process.env["COUNTERSIGN_TEST_PORTS"] ?? "").split(",").map((pair) => pair.split("=").map(Number)),
);

/** Node hands connect() its arguments as a list that is marked by a symbol; the mark must stay. */
function move(argument) {
  if (typeof argument === "number") return moved.get(argument) ?? argument;
  if (Array.isArray(argument)) argument[0] = move(argument[0]);
  const to = typeof argument === "object" ? moved.get(Number(argument?.port)) : undefined;
  return to === undefined ? argument : { ...argument, port: to };
}

for (const [prototype, method] of [
  [net.Socket.prototype, "connect"],
  [net.Server.prototype, "listen"],
]) {
  prototype[method] = new Proxy(Reflect.get(prototype, method), {
    apply: (target, self, args) => Reflect.apply(target, self, args.map(move)),
  });
}
