import { lambdaHandler, type LambdaFunction } from "@countersign/fetch/aws-lambda";
import type { APIGatewayProxyEventV2 } from "aws-lambda";

/** What is deployed: the function behind an HTTP API or a Function URL. */
export const handler: LambdaFunction<APIGatewayProxyEventV2> = lambdaHandler(
  {
    secret: process.env["WEBHOOK_SECRET"] ?? "dev",
    onRejected: ({ code, hint }) => console.warn(`refused ${code}: ${hint}`),
  },
  async ({ message }, event) => {
    console.log(`${message.type} of ${message.userId ?? "someone unknown"}, at ${event.rawPath}`);
    return new Response(null, { status: 204 });
  },
);
