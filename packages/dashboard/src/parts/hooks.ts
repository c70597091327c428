import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../data/api.ts";

/** Draws the component again at an interval, for what counts down. */
export function useTick(everyMs: number, on: boolean): void {
  const [, setTick] = useState(0);
  useEffect(() => {
    if (!on) return undefined;
    const timer = setInterval(() => setTick((tick) => tick + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, on]);
}

/** What an action of the person does, while it runs and when it has failed. */
export interface Action {
  readonly busy: boolean;
  readonly error: string;
  readonly run: (action: () => Promise<unknown>) => Promise<boolean>;
}

/** Runs actions one at a time, and keeps what went wrong with the last one. */
export function useAction(): Action {
  const [state, setState] = useState({ busy: false, error: "" });
  const running = useRef(false);
  const run = async (action: () => Promise<unknown>): Promise<boolean> => {
    if (running.current) return false;
    running.current = true;
    setState({ busy: true, error: "" });
    try {
      await action();
      setState({ busy: false, error: "" });
      return true;
    } catch (error) {
      setState({ busy: false, error: messageOf(error) });
      return false;
    } finally {
      running.current = false;
    }
  };
  return { ...state, run };
}
