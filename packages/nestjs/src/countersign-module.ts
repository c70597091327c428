// Arguments that are defaults here are not in an app that augments WebhookTypes.
/* oxlint-disable typescript/no-unnecessary-type-arguments */
import { createReceiver, type ReceiverOptions } from "@countersign/core";
import { Module, type DynamicModule, type ModuleMetadata, type Provider } from "@nestjs/common";
import type { IncomingHttpHeaders } from "node:http";
import type { AppMessage } from "./decorators.ts";
import { WEBHOOK_RECEIVER } from "./webhook-guard.ts";

/** The common fields of requests of Express and Fastify. Name your platform's type if you need more. */
export interface NestRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly ip?: string | undefined;
  readonly params?: unknown;
  readonly query?: unknown;
}

/** Options of {@link CountersignModule}: those of every receiver. Functions get the platform's request. */
export type CountersignModuleOptions<TRequest = NestRequest> = ReceiverOptions<TRequest, AppMessage>;

/** How the module is registered, in addition to the options of its receiver. */
export interface CountersignModuleExtras {
  /** Make the receiver available in every module, without importing this one there. Default: false. */
  readonly isGlobal?: boolean | undefined;
}

/** Options that a factory makes, from what Nest injects. */
export interface CountersignModuleAsyncOptions<TRequest = NestRequest>
  extends CountersignModuleExtras, Pick<ModuleMetadata, "imports"> {
  /** The arguments of the factory, in order. */
  readonly inject?: NonNullable<Extract<Provider, { inject?: unknown }>["inject"]> | undefined;
  /** Creates the options. If it throws, the app does not start. */
  readonly useFactory: (
    ...injected: never[]
  ) => CountersignModuleOptions<TRequest> | Promise<CountersignModuleOptions<TRequest>>;
}

/**
 * Provides the receiver that `@VerifyWebhook()` uses, to the controllers of the module that imports it.
 *
 * @example
 * ```ts
 * const webhooks = CountersignModule.register({
 *   secret: process.env.WEBHOOK_SECRET,
 *   onRejected: ({ code, hint }) => console.warn(code, hint),
 * });
 * ```
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- a module is a class for Nest
export class CountersignModule {
  /**
   * The module with options that are known when it is imported.
   *
   * @param options - See `ReceiverOptions`, and `isGlobal`. The secret defaults to the environment variable
   *   `WEBHOOK_SECRET`. Without a secret, or with a wrong option, the app does not start.
   */
  static register<TRequest = NestRequest>({
    isGlobal,
    ...options
  }: CountersignModuleOptions<TRequest> & CountersignModuleExtras = {}): DynamicModule {
    return moduleOf({ isGlobal, useFactory: () => options });
  }

  /**
   * The module with options that a factory makes from other providers, such as Nest's `ConfigService`.
   *
   * @param options - The factory, and the providers that it gets.
   * @example
   * ```ts
   * const webhooks = CountersignModule.registerAsync({
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({ secret: config.get("WEBHOOK_SECRET") }),
   * });
   * ```
   */
  static registerAsync<TRequest = NestRequest>(
    options: CountersignModuleAsyncOptions<TRequest>,
  ): DynamicModule {
    if (typeof options?.useFactory !== "function") {
      throw new TypeError(
        "CountersignModule.registerAsync() needs a factory: { inject: [ConfigService], useFactory: (config) => ({ secret }) }.",
      );
    }
    return moduleOf(options);
  }
}

// Called, not written with @: decorators are not in the JavaScript that this package is published as.
Module({})(CountersignModule);

function moduleOf<TRequest>({
  isGlobal = false,
  imports = [],
  inject = [],
  useFactory,
}: CountersignModuleAsyncOptions<TRequest>): DynamicModule {
  return {
    module: CountersignModule,
    global: isGlobal,
    imports,
    providers: [
      {
        provide: WEBHOOK_RECEIVER,
        inject,
        useFactory: async (...injected: never[]) => createReceiver(await useFactory(...injected)),
      },
    ],
    exports: [WEBHOOK_RECEIVER],
  };
}
