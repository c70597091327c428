import type { LambdaHttpEvent, LambdaResult } from "@countersign/fetch/aws-lambda";
import { lambdaGateways, lambdaListener } from "../support/lambda-gateways.ts";
import { certifyHost } from "./support/certify-host.ts";
import { loadModule, serve } from "./support/in-process.ts";
import { DEFAULT_MANAGERS } from "./support/project.ts";

interface FunctionModule {
  readonly handler: (event: LambdaHttpEvent) => Promise<LambdaResult>;
}

for (const [index, gateway] of lambdaGateways.entries()) {
  certifyHost(`Lambda behind ${gateway.name}`, {
    page: "docs/guides/aws-lambda.md",
    managers: index === 0 ? DEFAULT_MANAGERS : ["pnpm"],
    async start(project, port) {
      const { handler } = await loadModule<FunctionModule>(project, "src/handler.js");
      return serve(lambdaListener(gateway, handler), port);
    },
  });
}
