import { Fragment as Group, options, type ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { effect } from "./signals.ts";

type Draw = (props: unknown) => unknown;

const followers = new WeakMap<Draw, Draw>();

/** From now on every component is drawn again when a signal changes that it has read while it was drawn. */
export function followSignals(): void {
  options.vnode = (node) => {
    const type: unknown = node.type;
    if (typeof type === "function" && type !== Group) node.type = followerOf(type as Draw) as ComponentType;
  };
}

function followerOf(draw: Draw): Draw {
  let follower = followers.get(draw);
  if (!follower) {
    follower = (props) => useDrawn(draw, props);
    followers.set(draw, follower);
    // Preact shows a component again with the type that it has already.
    followers.set(follower, follower);
  }
  return follower;
}

/** What a component draws, and drawn again after a change of what it has read. */
function useDrawn(draw: Draw, props: unknown): unknown {
  const [, drawAgain] = useState({});
  const stop = useRef<() => void>(undefined);
  useEffect(() => () => stop.current?.(), []);
  stop.current?.();
  let drawn: unknown;
  let isDrawn = false;
  stop.current = effect(() => {
    if (isDrawn) return drawAgain({});
    isDrawn = true;
    drawn = draw(props);
  });
  return drawn;
}
