import type { ComponentChildren, JSX } from "preact";
import { useId } from "./hooks.ts";

interface Props {
  readonly title: ComponentChildren;
  /** What is less important than the title, beside it. */
  readonly about?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** A part of a screen, named by its heading. */
export function Card({ title, about, children }: Props): JSX.Element {
  const id = useId();
  return (
    <section class="card stack" aria-labelledby={id}>
      <h3 id={id}>
        <bdi>{title}</bdi> {about !== undefined && <span class="about">{about}</span>}
      </h3>
      {children}
    </section>
  );
}
