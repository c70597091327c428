// The older majors that adapters support, under the types of the newer ones: the parts in use here are the same.
declare module "express4" {
  export { default } from "express";
}

declare module "koa2" {
  export { default } from "koa";
}
