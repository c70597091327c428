import { render } from "preact";
import { start } from "./data/app-state.ts";
import { followSignals } from "./signals/follow.ts";
import { followHistory } from "./route/route.ts";
import { App } from "./screens/app.tsx";

followSignals();
followHistory();
start();
const root = document.querySelector("#app");
if (root) render(<App />, root);
