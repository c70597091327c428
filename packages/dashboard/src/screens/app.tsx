import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { announcement } from "../data/announce.ts";
import { needsToken } from "../data/api.ts";
import { list } from "../data/app-state.ts";
import { hrefOf, route, SCREENS, type Screen } from "../route/route.ts";
import { Banners } from "./banners.tsx";
import { Deliveries } from "./deliveries/deliveries.tsx";
import { Header } from "./header.tsx";
import { Help, useKeys } from "./keys.tsx";
import { loadError, loadOthers, others } from "./lazy.ts";
import { TokenForm } from "./token-form.tsx";

const LOAD_OTHERS_AFTER_MS = 500;

/** The whole page. */
export function App(): JSX.Element {
  useKeys();
  if (needsToken.value) return <TokenForm />;
  return (
    <div class="app">
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <Header />
      <Banners />
      <Navigation />
      <Main />
      <Help />
      <div class="visually-hidden" role="status" aria-live="polite">
        {announcement.value}
      </div>
    </div>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#main")?.focus();
}

function Navigation(): JSX.Element {
  const { screen } = route.value;
  return (
    <nav class="navigation" aria-label="Screens">
      {SCREENS.map(([name, label]) => (
        <a key={name} href={hrefOf(name)} aria-current={name === screen ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}

function Main(): JSX.Element {
  const { screen } = route.value;
  const main = useRef<HTMLElement>(null);
  const before = useRef(screen);
  const label = SCREENS.find(([name]) => name === screen)?.[1] ?? "";
  useEffect(() => {
    const waiting = list.waiting.value > 0 ? ` (${list.waiting.value})` : "";
    document.title = `${label}${waiting} · Countersign`;
    // After a change of screens a screen reader continues with the new one.
    if (before.current !== screen) main.current?.focus();
    before.current = screen;
  });
  return (
    <main id="main" class={`main screen-${screen}`} tabIndex={-1} ref={main} aria-label={label}>
      <View screen={screen} />
    </main>
  );
}

function View({ screen }: { readonly screen: Screen }): JSX.Element {
  useEffect(() => {
    // What is needed first is drawn first.
    const timer = setTimeout(loadOthers, screen === "deliveries" ? LOAD_OTHERS_AFTER_MS : 0);
    return () => clearTimeout(timer);
  }, [screen]);
  if (screen === "deliveries") return <Deliveries />;
  const Other = others.value?.[screen];
  if (Other) return <Other />;
  if (loadError.value === "") return <p class="empty">Reading…</p>;
  return (
    <div class="empty" role="alert">
      <p>{loadError.value}</p>
      <button type="button" onClick={loadOthers}>
        Try again
      </button>
    </div>
  );
}
