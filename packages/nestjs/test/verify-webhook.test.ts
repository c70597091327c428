import {
  createRouter,
  defineEvents,
  memoryDedupe,
  toProblem,
  type VerifiedWebhook,
  WebhookError,
  type WebhookMessage,
} from "@countersign/core";
import { mutations, sampleMessages, signedRequest, type SignedRequest } from "@countersign/core/testing";
import {
  CountersignModule,
  dispatch,
  VerifyWebhook,
  Webhook,
  WebhookException,
  WebhookGuard,
  type CountersignModuleOptions,
} from "@countersign/nestjs";
import {
  Body,
  Catch,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Module,
  Post,
  type ArgumentsHost,
  type DynamicModule,
  type INestApplication,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter, type NestFastifyApplication } from "@nestjs/platform-fastify";
import { Test } from "@nestjs/testing";
import request from "supertest";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";

const SECRET = "the secret of the nest tests";
const track = signedRequest(sampleMessages.track, SECRET);
const handled = vi.fn<(...seen: unknown[]) => void>();

@Controller("webhooks")
class WebhooksController {
  @Post()
  @HttpCode(204)
  @VerifyWebhook()
  receive(
    @Webhook() webhook: VerifiedWebhook,
    @Webhook("message") message: WebhookMessage,
    @Body() body: unknown,
  ): void {
    handled(webhook, message, body);
  }
}

@Controller()
class OtherController {
  @Get("health")
  health(): object {
    return { ok: true };
  }

  @Post("notes")
  note(@Body() body: unknown): object {
    return { noted: body };
  }

  @Post("forgotten")
  forgotten(@Webhook("message") message: WebhookMessage): string {
    return message.type;
  }
}

function appModule(imported: DynamicModule, ...controllers: (new () => object)[]): DynamicModule {
  @Module({})
  class AppModule {}
  return {
    module: AppModule,
    imports: [imported],
    controllers: [WebhooksController, OtherController, ...controllers],
  };
}

/** The URL of an app on a platform, which is closed when the test ends. */
async function start(
  platform: Platform,
  module: DynamicModule,
  prepare: (app: INestApplication) => void = () => {},
): Promise<string> {
  handled.mockReset();
  const { rawBody } = platform;
  const app = await NestFactory.create(module, platform.adapter(), {
    rawBody,
    logger: false,
    abortOnError: false,
  });
  prepare(app);
  onTestFinished(() => app.close());
  await app.listen(0, "127.0.0.1");
  return app.getUrl();
}

interface Platform {
  readonly name: string;
  readonly rawBody: boolean;
  readonly adapter: () => ExpressAdapter | FastifyAdapter;
}

const platforms: readonly Platform[] = [
  { name: "Express, rawBody: true", rawBody: true, adapter: () => new ExpressAdapter() },
  { name: "Express, without rawBody", rawBody: false, adapter: () => new ExpressAdapter() },
  { name: "Fastify, rawBody: true", rawBody: true, adapter: () => new FastifyAdapter() },
  { name: "Fastify, without rawBody", rawBody: false, adapter: () => new FastifyAdapter() },
];

function post(url: string, { headers, body }: SignedRequest): request.Test {
  return request(url).post("/webhooks").set(headers).serialize(String).send(Buffer.from(body).toString());
}

function withOptions(options: CountersignModuleOptions = {}): DynamicModule {
  return appModule(CountersignModule.register({ secret: SECRET, ...options }));
}

describe.each(platforms)("Nest on $name", (platform) => {
  it("gives the handler the typed message, the webhook and the body", async () => {
    const url = await start(platform, withOptions());
    for (const message of Object.values(sampleMessages)) {
      await post(url, signedRequest(message, SECRET)).expect(204);
      const [webhook, received, body] = handled.mock.lastCall ?? [];
      expect(received).toEqual(message);
      expect(body).toEqual(message);
      expect(webhook).toMatchObject({ verifiedOver: platform.rawBody ? "bytes" : "json", secretIndex: 0 });
    }
    expect(handled).toHaveBeenCalledTimes(7);
  });

  it("answers a forgery with a problem document, and runs no handler", async () => {
    const url = await start(platform, withOptions());
    for (const forgery of [mutations.forged(track), mutations.tampered(track), mutations.unsigned(track)]) {
      const answer = await post(url, forgery)
        .expect(401)
        .expect("content-type", /^application\/problem\+json/);
      expect(answer.headers["cache-control"]).toBe("no-store");
      expect(JSON.parse(answer.text)).toMatchObject({
        status: 401,
        code: expect.stringMatching(/^ERR_SIGNATURE_/),
      });
    }
    expect(handled).not.toHaveBeenCalled();
  });

  it("leaves other routes and their bodies as they are", async () => {
    const url = await start(platform, withOptions());
    expect((await request(url).get("/health")).body).toEqual({ ok: true });
    expect((await request(url).post("/notes").send({ a: 1 })).body).toEqual({ noted: { a: 1 } });
  });

  it("answers a repeat with 200 and without the handler, and delivers again after a failure", async () => {
    const url = await start(platform, withOptions({ dedupe: memoryDedupe() }));
    handled.mockImplementationOnce(() => {
      throw new Error("the database is down");
    });
    await post(url, track).expect(500);
    await post(url, track).expect(204);
    const repeat = await post(url, track).expect(200);
    expect(repeat.text).toBe("");
    expect(handled).toHaveBeenCalledTimes(2);
  });

  it("keeps refusals from the app's catch-all filter, unless onError says otherwise", async () => {
    const caught = vi.fn<(error: unknown) => void>();
    @Catch()
    class CatchAll {
      catch(error: unknown, host: ArgumentsHost): void {
        caught(error);
        const response = host
          .switchToHttp()
          .getResponse<{ status(code: number): { send(body: string): void } }>();
        response.status(418).send("caught");
      }
    }
    const useFilter = (app: INestApplication): void => void app.useGlobalFilters(new CatchAll());
    const answering = await start(platform, withOptions(), useFilter);
    await post(answering, mutations.forged(track)).expect(401);
    expect(caught).not.toHaveBeenCalled();
    const throwing = await start(platform, withOptions({ onError: "throw" }), useFilter);
    await post(throwing, mutations.forged(track)).expect(418, "caught");
    expect(caught).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ code: "ERR_SIGNATURE_MISMATCH" }),
    );
  });

  it("gives hooks and secret functions the platform's request", async () => {
    const secret = vi.fn<(request: { url: string }) => string>(() => SECRET);
    const onRejected = vi.fn<(error: unknown, rejected: { request: { url: string } }) => void>();
    const url = await start(platform, withOptions({ secret, onRejected }));
    await post(url, mutations.forged(track)).expect(401);
    expect(secret.mock.calls[0]?.[0].url).toBe("/webhooks");
    expect(onRejected.mock.calls[0]?.[1].request.url).toBe("/webhooks");
  });

  it("runs a router, which answers 422 to an event that does not match", async () => {
    const shipped = vi.fn<(total: number) => void>();
    const events = defineEvents({ "Order Completed": z.object({ total: z.number() }) });
    const router = createRouter({ events }).on("track", "Order Completed", ({ properties }) => {
      shipped(properties.total);
    });
    @Controller("routed")
    class RoutedController {
      @Post()
      @HttpCode(204)
      @VerifyWebhook()
      receive(@Webhook() webhook: VerifiedWebhook): Promise<void> {
        return dispatch(router, webhook);
      }
    }
    const url = await start(
      platform,
      appModule(CountersignModule.register({ secret: SECRET }), RoutedController),
    );
    const send = (message: object): request.Test => {
      const { headers, body } = signedRequest(message as WebhookMessage, SECRET);
      return request(url).post("/routed").set(headers).serialize(String).send(Buffer.from(body).toString());
    };
    await send(sampleMessages.track).expect(204);
    expect(shipped).toHaveBeenCalledExactlyOnceWith(41.5);
    const answer = await send({ ...sampleMessages.track, properties: { total: "41" } }).expect(422);
    expect(JSON.parse(answer.text)).toMatchObject({ code: "ERR_INVALID_MESSAGE" });
  });

  it("answers 500 and says why, and not 503, where a method and its controller both have the guard", async () => {
    @VerifyWebhook()
    @Controller("twice")
    class TwiceController {
      @Post()
      @VerifyWebhook()
      receive(@Webhook("message") message: WebhookMessage): void {
        handled(message);
      }
    }
    const onRejected = vi.fn<(error: { hint: string }) => void>();
    const options = { secret: SECRET, dedupe: memoryDedupe(), onRejected };
    const url = await start(platform, appModule(CountersignModule.register(options), TwiceController));
    const { headers, body } = track;
    await request(url)
      .post("/twice")
      .set(headers)
      .serialize(String)
      .send(Buffer.from(body).toString())
      .expect(500);
    expect(onRejected.mock.calls[0]?.[0].hint).toContain("Mount it once");
    expect(handled).not.toHaveBeenCalled();
  });

  it("says what to change where strict has only a parsed body", async () => {
    const onRejected = vi.fn<(error: { hint: string }) => void>();
    const url = await start(platform, withOptions({ strict: true, onRejected }));
    await post(url, track).expect(platform.rawBody ? 204 : 500);
    if (!platform.rawBody) {
      expect(onRejected.mock.calls[0]?.[0].hint).toContain(
        "NestFactory.create(AppModule, { rawBody: true })",
      );
    }
  });

  it("answers 500 if a parameter needs a webhook but no guard verified it", async () => {
    const logged = vi.fn<(message: unknown) => void>();
    const url = await start(platform, withOptions(), (app) => {
      app.useLogger({ log: () => {}, warn: () => {}, error: logged });
    });
    await request(url).post("/forgotten").send({}).expect(500);
    expect(String(logged.mock.calls[0]?.[0])).toContain(
      "put @VerifyWebhook() on the method or its controller",
    );
  });
});

const [platform] = platforms as [Platform];

describe("the module", () => {
  it("keeps the app from starting without a secret, or with a wrong option", async () => {
    vi.stubEnv("WEBHOOK_SECRET", undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    const without = appModule(CountersignModule.register());
    await expect(start(platform, without)).rejects.toThrow("needs a secret");
    const misspelt: object = { secret: SECRET, sharedSecret: SECRET };
    await expect(start(platform, appModule(CountersignModule.register(misspelt)))).rejects.toThrow(
      "it is called secret here",
    );
  });

  it("takes its options from other providers, such as a ConfigService", async () => {
    @Injectable()
    class ConfigService {
      get(name: string): string {
        return name === "WEBHOOK_SECRET" ? SECRET : "";
      }
    }
    @Module({ providers: [ConfigService], exports: [ConfigService] })
    class ConfigModule {}
    const module = CountersignModule.registerAsync({
      imports: [ConfigModule],
      inject: [ConfigService],
      useFactory: async (config: ConfigService) => ({ secret: config.get("WEBHOOK_SECRET") }),
    });
    const url = await start(platform, appModule(module));
    expect((await post(url, track)).status).toBe(204);
  });

  it("refuses a factory that is not a function", () => {
    const wrong = { useClass: Object } as unknown as { useFactory: () => object };
    expect(() => CountersignModule.registerAsync(wrong)).toThrow("needs a factory");
  });

  it("gives each module its own receiver, and shares a global one", async () => {
    @Controller("tenant")
    class TenantController {
      @Post()
      @HttpCode(204)
      @VerifyWebhook()
      receive(): void {}
    }
    @Module({ imports: [CountersignModule.register({ secret: "theirs" })], controllers: [TenantController] })
    class TenantModule {}
    const app = withOptions();
    const url = await start(platform, { ...app, imports: [...(app.imports ?? []), TenantModule] });
    const theirs = signedRequest(sampleMessages.track, "theirs");
    await request(url)
      .post("/tenant")
      .set(theirs.headers)
      .send(Buffer.from(theirs.body).toString())
      .expect(204);
    await request(url)
      .post("/tenant")
      .set(track.headers)
      .send(Buffer.from(track.body).toString())
      .expect(401);
    expect((await post(url, track)).status).toBe(204);

    @Module({ controllers: [TenantController] })
    class PlainModule {}
    const global = appModule(CountersignModule.register({ secret: SECRET, isGlobal: true }));
    const shared = await start(platform, { ...global, imports: [...(global.imports ?? []), PlainModule] });
    await request(shared)
      .post("/tenant")
      .set(track.headers)
      .send(Buffer.from(track.body).toString())
      .expect(204);
  });

  it("names itself where it is not imported", async () => {
    @Module({ controllers: [WebhooksController] })
    class Forgetful {}
    await expect(start(platform, { module: Forgetful })).rejects.toThrow("CountersignModule.register()");
  });

  it("has a guard that a test can replace", async () => {
    const message = sampleMessages.identify;
    const testing = await Test.createTestingModule({ imports: [withOptions()] })
      .overrideGuard(WebhookGuard)
      .useValue({
        canActivate(context: { switchToHttp(): { getRequest(): { webhook?: object } } }): boolean {
          context.switchToHttp().getRequest().webhook = { message };
          return true;
        },
      })
      .compile();
    const app = testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
    onTestFinished(() => app.close());
    handled.mockReset();
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
    await request(app.getHttpServer()).post("/webhooks").expect(204);
    expect(handled.mock.lastCall?.[1]).toEqual(message);
  });

  it("throws a WebhookException that has the answer", () => {
    const exception = new WebhookException({ status: 200, headers: {}, body: "" });
    expect(exception.getStatus()).toBe(200);
    expect(exception.getResponse()).toEqual({});
    const error = new WebhookError("ERR_SIGNATURE_MISSING");
    const refusal = new WebhookException(toProblem(error), error);
    expect(refusal.getStatus()).toBe(401);
    expect(refusal.getResponse()).toMatchObject({ status: 401, code: "ERR_SIGNATURE_MISSING" });
  });
});
