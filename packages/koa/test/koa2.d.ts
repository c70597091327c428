// The older major, under the types of the newer one: the parts in use here are the same.
declare module "koa2" {
  export { default } from "koa";
}
