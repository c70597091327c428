import { render } from "preact";
// First, so that the hooks of Preact follow Preact itself in the script: that compresses better.
import { followSignals } from "./signals/follow.ts";
import { start } from "./data/app-state.ts";
import { followHistory } from "./route/route.ts";
import { App } from "./screens/app.tsx";

followSignals();
followHistory();
start();
const root = document.querySelector("#app");
if (root) render(<App />, root);
