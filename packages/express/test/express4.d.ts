// The older major, under the types of the newer one: the parts in use here are the same.
declare module "express4" {
  export { default } from "express";
}
