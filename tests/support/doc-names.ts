/**
 * What the examples of a package may use without saying where it comes from: the app around them. Names that a package
 * exports are not listed here, so that a misspelt one does not compile.
 */
export const FREE_NAMES: Readonly<Record<string, string | undefined>> = {
  core: `
    import type { IncomingMessage, ServerResponse } from "node:http";
    import type { EventDefinitions, Received, Receiver, SharedDedupeSteps, WebhookError, WebhookMessage, WebhookRequest } from "@countersign/core";
    import { z as zod } from "zod";
    type OrderCompleted = zod.ZodObject<{ orderId: zod.ZodString; total: zod.ZodNumber }>;
    declare global {
      const z: typeof zod;
      const secret: string;
      const url: string;
      const text: string;
      const body: Uint8Array;
      const rawBody: Uint8Array;
      const signature: string;
      const headers: Record<string, string | undefined>;
      const request: IncomingMessage;
      const response: ServerResponse;
      const error: WebhookError;
      const webhookRequest: WebhookRequest;
      const stream: ReadableStream<Uint8Array>;
      const message: WebhookMessage;
      const receiver: Receiver;
      function onVerdict(received: Received): void;
      function next(error: Error): void;
      const claim: SharedDedupeSteps["claim"];
      const commit: SharedDedupeSteps["commit"];
      const release: SharedDedupeSteps["release"];
      const events: EventDefinitions<{ "Order Completed": OrderCompleted }>;
      const app: {
        get(path: string, handler: (request: unknown, response: { json(body: unknown): void }) => void): void;
      };
      const log: { warn(fields: object): void; debug(text: string): void };
      function save(userId: string | null | undefined, traits: object | null | undefined): Promise<void>;
      function ship(orderId: string): Promise<void>;
      function handle(message: WebhookMessage): Promise<void>;
      function merge(previousId: string, userId: string): Promise<void>;
      function record(event: string): void;
      function forget(userId: string): void;
      function post(request: object): Promise<void>;
      const supertest: (app: unknown) => {
        post(path: string): {
          set(headers: object): { send(text: string): { expect(status: number): Promise<void> } };
        };
      };
    }`,
  express: `
    import type { Express } from "express";
    import type { WebhookRouter } from "@countersign/core";
    declare global {
      const app: Express;
      const secret: string;
      const router: WebhookRouter;
    }`,
  fastify: `
    import type { FastifyInstance } from "fastify";
    import type { WebhookRouter } from "@countersign/core";
    declare global {
      const app: FastifyInstance;
      const scope: FastifyInstance;
      const secret: string;
      const router: WebhookRouter;
    }`,
  koa: `
    import type Router from "@koa/router";
    import type { WebhookRouter } from "@countersign/core";
    declare global {
      const router: Router;
      const handlers: WebhookRouter;
      const secret: string;
    }`,
  fetch: `
    import type { EventDefinitions, WebhookRouter } from "@countersign/core";
    declare global {
      const request: Request;
      const secret: string;
      const events: EventDefinitions;
      const router: WebhookRouter;
    }`,
  nestjs: `
    import type { DynamicModule } from "@nestjs/common";
    import * as nest from "@nestjs/common";
    import type { VerifiedWebhook as AnyWebhook, WebhookMessage as AnyMessage, WebhookRouter } from "@countersign/core";
    declare global {
      const router: WebhookRouter;
      const Controller: typeof nest.Controller;
      const Post: typeof nest.Post;
      const HttpCode: typeof nest.HttpCode;
      type VerifiedWebhook = AnyWebhook;
      type WebhookMessage = AnyMessage;
      const AppModule: new () => object;
      const beforeEach: (hook: () => Promise<void>) => void;
      const afterEach: typeof beforeEach;
      const it: (title: string, test: () => Promise<void>) => void;
      const WebhooksController: new () => object;
      class ConfigService {
        get(name: string): string | undefined;
      }
    }`,
  client: `
    import type { Server } from "node:http";
    import type { Analytics as Client } from "@countersign/client";
    import { z as zod } from "zod";
    declare global {
      const z: typeof zod;
      const analytics: Client;
      const server: Server;
    }`,
  sender: `
    import type { DeliveryStore } from "@countersign/sender/store";
    import type { Express } from "express";
    import type { AttemptSummary, JudgedCall, Receipt, Sender, SenderSettings, TrackCall } from "@countersign/sender";
    declare global {
      const sender: Sender;
      const app: Express;
      const call: TrackCall;
      const calls: readonly JudgedCall[];
      const receipt: Receipt;
      const settings: SenderSettings;
      const url: string;
      const id: string;
      const privateCa: string;
      const headers: Record<string, string>;
      const body: Uint8Array;
      const endpoint: string;
      const last: AttemptSummary | undefined;
      const eu: DeliveryStore;
      const us: DeliveryStore;
      const store: DeliveryStore;
      const sources: SenderSettings["sources"];
    }`,
  certify: `
    import type { Report } from "@countersign/certify";
    import type { expect as vitestExpect, it as vitestIt } from "vitest";
    declare global {
      const url: string;
      const secret: string;
      const report: Report;
      const it: typeof vitestIt;
      const expect: typeof vitestExpect;
      const writeFile: typeof import("node:fs/promises").writeFile;
    }`,
  server: `
    export {};
    declare global {
      const Analytics: new (options: { writeKey: string; host: string }) => object;
    }`,
  protocol: `
    export {};
    declare global {
      const url: string;
      function flush(): void;
    }`,
  redis: `
    import type { Express, RequestHandler } from "express";
    declare global {
      const app: Express;
      const handler: RequestHandler;
      const secret: string;
    }`,
  postgres: `
    import type { Express, RequestHandler } from "express";
    declare global {
      const app: Express;
      const handler: RequestHandler;
      const secret: string;
    }`,
  guides: `
    import type { Express } from "express";
    import type { FastifyInstance } from "fastify";
    import type { Hono } from "hono";
    import type { IncomingMessage, ServerResponse } from "node:http";
    interface H3Event { readonly node: { readonly req: IncomingMessage; readonly res: ServerResponse } }
    declare global {
      const app: Express & Pick<FastifyInstance, "listen"> & Pick<Hono, "fetch">;
      const AppModule: new () => object;
      const WebhooksController: new () => object;
      const POST: (request: Request) => Promise<Response>;
      const receive: (request: Request) => Promise<Response>;
      function defineEventHandler(handler: (event: H3Event) => Promise<void>): unknown;
      const Deno: { serve(options: { port: number }, handler: (request: Request) => Promise<Response>): void };
      const Bun: { serve(options: { port: number; fetch: (request: Request) => Promise<Response> }): void };
    }`,
  errors: `
    import type { Analytics as Client, TrackCall } from "@countersign/client";
    import type { EventDefinitions, WebhookMessage } from "@countersign/core";
    import type { DestinationSettings, JudgedCall, Receipt, SenderSettings, SourceSettings } from "@countersign/sender";
    import type { DeliveryStore } from "@countersign/sender/store";
    import type { TestSender, VirtualClock } from "@countersign/sender/testing";
    import type expressModule from "express";
    import type { Express, Request, RequestHandler, Response } from "express";
    declare global {
      const Analytics: typeof import("@countersign/client").Analytics;
      const sign: typeof import("@countersign/core").sign;
      const signedRequest: typeof import("@countersign/core/testing").signedRequest;
      const createReceiver: typeof import("@countersign/core").createReceiver;
      const verifyWebhook: typeof import("@countersign/express").verifyWebhook;
      const createSender: typeof import("@countersign/sender").createSender;
      const sqliteStore: typeof import("@countersign/sender").sqliteStore;
      const postgresStore: typeof import("@countersign/postgres").postgresStore;
      const createHmac: typeof import("node:crypto").createHmac;
      const express: typeof expressModule;
      const app: Express;
      const req: Request;
      const res: Response;
      const handler: RequestHandler;
      const verify: ReturnType<typeof import("@countersign/express").verifyWebhook>;
      const queue: { add(message: WebhookMessage): Promise<void> };
      const request: { headers: Record<string, string> };
      const events: EventDefinitions;
      const message: WebhookMessage;
      const body: string;
      const secret: string;
      const newSecret: string;
      const oldSecret: string;
      const url: string;
      const endpoint: string;
      const writeKey: string;
      const callType: string;
      const messageId: string;
      const user: { readonly id: number };
      const call: TrackCall;
      const calls: readonly JudgedCall[];
      const analytics: Client;
      const sender: TestSender;
      const clock: VirtualClock;
      const receipt: Receipt;
      const settings: SenderSettings;
      const sources: readonly SourceSettings[];
      const destinations: readonly DestinationSettings[];
      const store: DeliveryStore;
      function send(body: string, headers: Record<string, string>): void;
      const supertest: (app: unknown) => {
        post(path: string): { set(headers: object): { send(text: string): Promise<void> } };
      };
    }`,
};
