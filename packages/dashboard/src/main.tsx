import { render } from "preact";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/deliveries.css";
import "./styles/detail.css";
import "./styles/screens.css";
import { start } from "./data/app-state.ts";
import { followHistory } from "./route/route.ts";
import { App } from "./screens/app.tsx";

followHistory();
start();
const root = document.querySelector("#app");
if (root) render(<App />, root);
