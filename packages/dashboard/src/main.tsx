import { render } from "preact";
// First, so that the hooks of Preact follow Preact itself in the script: that compresses better.
import { followSignals } from "./signals/follow.ts";
import { start } from "./data/app-state.ts";
import { followHistory } from "./route/route.ts";
import { keepFocus } from "./parts/keep-focus.ts";
import { App, showTitle } from "./screens/app.tsx";
import { listenToKeys } from "./screens/keys.tsx";
import { effect } from "./signals/signals.ts";

// The forms are sent by script.
addEventListener("submit", (event) => event.preventDefault());
followSignals();
followHistory();
start();
keepFocus();
listenToKeys();
effect(showTitle);
const root = document.querySelector("#app");
if (root) render(<App />, root);
