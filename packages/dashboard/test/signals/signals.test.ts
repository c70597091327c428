import { describe, expect, it } from "vitest";
import { batch, computed, effect, signal, watch } from "../../src/signals/signals.ts";

describe("effect", () => {
  it("runs again after a change, not after the same value", () => {
    const name = signal("a");
    const seen: string[] = [];
    effect(() => void seen.push(name.value));
    name.value = "b";
    name.value = "b";
    expect(seen).toEqual(["a", "b"]);
  });

  it("follows only what its last run has read", () => {
    const [first, second, which] = [signal(1), signal(2), signal(true)];
    let runs = 0;
    effect(() => {
      runs += 1;
      void (which.value ? first.value : second.value);
    });
    second.value = 3;
    expect(runs).toBe(1);
    which.value = false;
    first.value = 4;
    expect(runs).toBe(2);
    second.value = 5;
    expect(runs).toBe(3);
  });

  it("does not follow what an effect inside it reads", () => {
    const inner = signal(0);
    let runs = 0;
    effect(() => {
      runs += 1;
      effect(() => void inner.value);
    });
    inner.value = 1;
    expect(runs).toBe(1);
  });

  it("does not run once it is stopped, also by another effect of the same change", () => {
    const value = signal(0);
    const seen: number[] = [];
    let stop = (): void => {};
    effect(() => {
      if (value.value === 1) stop();
    });
    stop = effect(() => void seen.push(value.value));
    value.value = 1;
    value.value = 2;
    expect(seen).toEqual([0]);
  });

  it("that throws leaves nothing behind that follows what others read", () => {
    const value = signal(0);
    expect(() =>
      effect(() => {
        throw new Error("no");
      }),
    ).toThrow("no");
    void value.value;
    let runs = 0;
    effect(() => {
      runs += 1;
      void value.value;
    });
    value.value = 1;
    expect(runs).toBe(2);
  });
});

describe("batch", () => {
  it("runs an effect once, after the last change", () => {
    const [first, second] = [signal(1), signal(2)];
    const seen: number[] = [];
    effect(() => void seen.push(first.value + second.value));
    batch(() => {
      first.value = 10;
      batch(() => {
        second.value = 20;
      });
      expect(seen).toEqual([3]);
    });
    expect(seen).toEqual([3, 30]);
  });

  it("runs what its effects change, too", () => {
    const [from, to] = [signal(1), signal(0)];
    const seen: number[] = [];
    effect(() => void seen.push(to.value));
    effect(() => {
      to.value = from.value * 2;
    });
    from.value = 5;
    expect(seen).toEqual([0, 2, 10]);
  });
});

describe("computed", () => {
  it("is current at once, and followed like a signal", () => {
    const count = signal(1);
    const double = computed(() => count.value * 2);
    const seen: number[] = [];
    effect(() => void seen.push(double.value));
    count.value = 2;
    expect(double.value).toBe(4);
    expect(seen).toEqual([2, 4]);
  });
});

describe("watch", () => {
  it("runs after changes of its source alone", () => {
    const [source, other] = [signal(0), signal(0)];
    let runs = 0;
    watch(source, () => {
      runs += 1;
      void other.value;
    });
    expect(runs).toBe(1);
    other.value = 9;
    expect(runs).toBe(1);
    source.value = 1;
    expect(runs).toBe(2);
  });
});
