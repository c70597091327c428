import { createRequire } from "node:module";
import type { BuildCompilerFromPool } from "@fastify/ajv-compiler";
import type { FastifyServerOptions } from "fastify";

type SchemaController = NonNullable<FastifyServerOptions["schemaController"]>;
type Compilers = NonNullable<SchemaController["compilersFactory"]>;
type Compile = ReturnType<BuildCompilerFromPool>;
type Validate = ReturnType<Compile>;

const require = createRequire(import.meta.url);

/** Loads Ajv, and compiles the schema of an operation, when the first request comes for it. */
const buildValidator: BuildCompilerFromPool = (schemas, options) => {
  let compile: Compile | undefined;
  return (route) => {
    let validate: Validate | undefined;
    const check = ((data: unknown) => {
      compile ??= loadAjv()(schemas, options);
      validate ??= compile(route);
      const isValid = validate(data);
      // Fastify reads them from the function that it has called.
      check.errors = validate.errors ?? null;
      return isValid;
    }) as Validate;
    return check;
  };
};

function loadAjv(): BuildCompilerFromPool {
  const ajvCompiler = require("@fastify/ajv-compiler") as () => BuildCompilerFromPool;
  return ajvCompiler();
}

/**
 * How schemas of requests become functions. To load Ajv and to compile those of all operations is a quarter of the CPU time in which a
 * server starts, and most servers in tests are asked for few. No operation has a schema of its response, which needs no compiler.
 */
export const compileOnDemand: Compilers = { buildValidator, buildSerializer: () => () => JSON.stringify };
