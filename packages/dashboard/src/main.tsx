import { render } from "preact";
import { start } from "./data/app-state.ts";
import { followHistory } from "./route/route.ts";
import { App } from "./screens/app.tsx";

followHistory();
start();
const root = document.querySelector("#app");
if (root) render(<App />, root);
