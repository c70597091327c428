import DefaultTheme from "vitepress/theme-without-fonts";
import type { Theme } from "vitepress";
import Choice from "./Choice.vue";
import SignatureBench from "./SignatureBench.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component("Choice", Choice);
    app.component("SignatureBench", SignatureBench);
  },
} satisfies Theme;
