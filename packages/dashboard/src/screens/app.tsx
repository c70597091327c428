import type { FunctionComponent, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { news, notice } from "../data/announce.ts";
import { needsToken } from "../data/api.ts";
import { list } from "../data/app-state.ts";
import { hrefOf, route, SCREENS, type Screen } from "../route/route.ts";
// Similar screens are neighbours here, and so in the script: gzip looks back 32 kB. In alphabetical order, it is 0.26 kB larger.
import { Certify } from "./certify.tsx";
import { Header } from "./header.tsx";
import { Rejected } from "./rejected.tsx";
import { TokenForm } from "./token-form.tsx";
import { Banners } from "./banners.tsx";
import { Recover } from "./recover.tsx";
import { Budget } from "./budget.tsx";
import { Deliveries } from "./deliveries/deliveries.tsx";
import { Help } from "./keys.tsx";
import { Faults } from "./faults/faults.tsx";
import { Send } from "./send/send.tsx";
import { Settings } from "./settings/settings.tsx";

const VIEWS: Readonly<Record<Screen, FunctionComponent>> = {
  deliveries: Deliveries,
  send: Send,
  settings: Settings,
  faults: Faults,
  budget: Budget,
  rejected: Rejected,
  certify: Certify,
  recover: Recover,
};

const LABELS: Readonly<Record<string, string>> = Object.fromEntries(SCREENS);

/** The whole page. */
export function App(): JSX.Element {
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
      <Told />
    </div>
  );
}

/** How many deliveries wait is seen in the title from another tab. */
export function showTitle(): void {
  const waiting = list.waiting.value > 0 ? ` (${list.waiting.value})` : "";
  document.title = `${LABELS[route.value.screen]}${waiting} · Countersign`;
}

function Told(): JSX.Element {
  return (
    <>
      <div class="notice" role="status">
        {notice.value}
      </div>
      <div class="visually-hidden" role="status">
        {news.value}
      </div>
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#main")?.focus();
}

function Navigation(): JSX.Element {
  const { screen } = route.value;
  const navigation = useRef<HTMLElement>(null);
  useEffect(() => {
    // On narrow screens the names are in one line that scrolls.
    navigation.current
      ?.querySelector("[aria-current]")
      ?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [screen]);
  return (
    <nav class="navigation" aria-label="Screens" ref={navigation}>
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
  const View = VIEWS[screen];
  const main = useRef<HTMLElement>(null);
  const before = useRef(screen);
  useEffect(() => {
    // After a change of screens a screen reader continues with the new one, from its beginning.
    if (before.current !== screen) {
      main.current?.focus();
      main.current?.scrollTo(0, 0);
    }
    before.current = screen;
  });
  return (
    <main id="main" class={`main screen-${screen}`} tabIndex={-1} ref={main} aria-label={LABELS[screen]}>
      <View />
    </main>
  );
}
