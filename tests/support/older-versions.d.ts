// The older majors that adapters support, under the types of the newer ones: the parts in use here are the same.
// And a client library that has no types.
declare module "express4" {
  export { default } from "express";
}

declare module "koa2" {
  export { default } from "koa";
}

declare module "analytics-node" {
  const Analytics: new (writeKey: string, options: { host?: string; flushAt?: number }) => object;
  export default Analytics;
}
