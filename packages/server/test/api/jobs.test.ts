import { expect, it } from "vitest";
import { ResendJobs } from "../../src/jobs/resend-jobs.ts";

it("the last twenty jobs are kept, and no more, however long the server runs", async () => {
  const sender = { count: async () => 0, resend: async () => ({ resent: 0 }) };
  const jobs = new ResendJobs(sender, Date.now, () => {});
  const ids: string[] = [];
  for (let n = 0; n < 22; n += 1) {
    const { id } = jobs.start({}, {});
    ids.push(id);
    await expect.poll(() => jobs.find(id)?.state).toBe("done");
  }
  expect(ids.filter((id) => jobs.find(id) !== undefined)).toEqual(ids.slice(-20));
  expect(jobs.list(20).map(({ id }) => id)).toEqual(ids.slice(-20).toReversed());
  expect(jobs.list(1).map(({ id }) => id)).toEqual(ids.slice(-1));
});

it("a job that a late request starts while the server closes ends at once, since nothing would stop it later", () => {
  const ended: unknown[] = [];
  const sender = {
    resend: (): never => {
      throw new Error("This job has begun.");
    },
  };
  const jobs = new ResendJobs(sender, Date.now, ({ state }) => ended.push(state));
  jobs.close();
  expect(jobs.start({}, {})).toMatchObject({ state: "cancelled", resent: 0 });
  expect([jobs.running, ended]).toEqual([undefined, ["cancelled"]]);
});
