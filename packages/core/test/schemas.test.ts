import { isMessage, parseMessage, type MessageType } from "@countersign/core";
import { messageSchema, openApiDocument } from "@countersign/core/schemas";
import { sampleMessages } from "@countersign/core/testing";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../src/errors.ts";
import { wildMessage } from "./support/wild-messages.ts";

const types = Object.keys(sampleMessages) as MessageType[];
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });

describe("messageSchema", () => {
  const validate = ajv.compile(messageSchema());

  it("accepts and refuses the very messages that parseMessage does", () => {
    const count = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(wildMessage, (message) => {
        const accepted = isMessage(message);
        count[accepted ? "accepted" : "refused"]++;
        expect(validate(message)).toBe(accepted);
        if (accepted) expect(parseMessage(message)).toBe(message);
      }),
      { numRuns: 5_000 },
    );
    // A generator that came to make only one kind would prove nothing.
    expect(count.accepted).toBeGreaterThan(1_000);
    expect(count.refused).toBeGreaterThan(1_000);
  });

  it.each(types)("has a schema for %s, which accepts no other type", (type) => {
    const validateType = ajv.compile(messageSchema(type));
    const accepted = types.filter((other) => validateType(sampleMessages[other]));
    expect(accepted).toEqual([type]);
  });

  it("of one type agrees with parseMessage, too", () => {
    const byType = new Map(types.map((type) => [type, ajv.compile(messageSchema(type))]));
    fc.assert(
      fc.property(wildMessage, fc.constantFrom(...types), (message, type) => {
        const fits = isMessage(message) && message.type === type;
        expect(byType.get(type)?.(message)).toBe(fits);
      }),
      { numRuns: 1_000 },
    );
  });

  it("describes every field", () => {
    for (const type of types) {
      const { properties } = messageSchema(type) as { properties: Record<string, { description?: string }> };
      const undescribed = Object.keys(properties).filter((name) => !properties[name]?.description);
      expect(undescribed).toEqual(["type"]);
    }
  });

  it("is a new object for each caller", () => {
    expect(messageSchema()).toEqual(messageSchema());
    messageSchema()["oneOf"] = [];
    expect(messageSchema()["oneOf"]).toHaveLength(7);
  });

  it("refuses an unknown type", () => {
    expect(() => messageSchema("constructor" as MessageType)).toThrow(TypeError);
  });
});

interface OpenApi {
  readonly info: { readonly title: string; readonly version: string };
  readonly webhooks: { readonly message: { readonly post: Operation } };
  readonly servers: readonly object[];
  readonly security: readonly object[];
  readonly components: {
    readonly schemas: Record<string, object>;
    readonly securitySchemes: Record<string, object>;
  };
}

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly schema: { readonly pattern: string } }[];
  readonly responses: Record<string, { readonly description: string; readonly headers?: object }>;
}

describe("openApiDocument", () => {
  const document = openApiDocument() as unknown as OpenApi;
  const { parameters, responses } = document.webhooks.message.post;

  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    // The validator takes the document apart, so it is given one of its own.
    const result = await validator.validate(openApiDocument());
    expect(result).toMatchObject({ valid: true });
    expect(validator.version).toBe("3.1");

    const broken = openApiDocument();
    delete broken["info"];
    expect(await new Validator().validate(broken)).toMatchObject({ valid: false });
  });

  it("has references that lead somewhere", () => {
    const references = [...JSON.stringify(document).matchAll(/"(#\/[^"]+)"/g)].map(([, path]) => path ?? "");
    expect(references.length).toBeGreaterThan(14);
    for (const path of references) {
      const name = path.replace("#/components/schemas/", "");
      expect(document.components.schemas).toHaveProperty([name]);
    }
  });

  it("has the same message schema as messageSchema", () => {
    const { $defs } = messageSchema();
    expect(document.components.schemas).toMatchObject($defs as object);
  });

  it("tells the messages apart by their type", () => {
    const { WebhookMessage, ...others } = document.components.schemas;
    const { discriminator } = WebhookMessage as { discriminator: { propertyName: string; mapping: object } };
    expect(discriminator.propertyName).toBe("type");
    for (const [type, path] of Object.entries(discriminator.mapping)) {
      const name = String(path).replace("#/components/schemas/", "");
      expect(others[name]).toMatchObject({ properties: { type: { const: type } } });
    }
    expect(Object.keys(discriminator.mapping)).toEqual(types);
  });

  it("says where it is served and that requests are signed, since linters take both for forgotten", () => {
    expect(document.servers).toMatchObject([{ url: "/" }]);
    const [requirement = {}] = document.security;
    expect(Object.keys(requirement)).toEqual(Object.keys(document.components.securitySchemes));
  });

  it("describes the signature header", () => {
    const [signature] = parameters;
    expect(signature?.name).toBe("X-Signature");
    expect(document.components.securitySchemes).toMatchObject({
      signature: { type: "apiKey", in: "header", name: signature?.name },
    });
    expect("5d61605c3feea9799210ddcb71307d4ba264225f").toMatch(new RegExp(signature?.schema.pattern ?? "-"));
  });

  it("explains every status a receiver answers with, and every code", () => {
    expect(Object.keys(responses).toSorted((a, b) => a.localeCompare(b))).toEqual([
      "2XX",
      "400",
      "401",
      "405",
      "413",
      "415",
      "422",
      "4XX",
      "500",
      "503",
      "5XX",
    ]);
    const descriptions = Object.values(responses).map(({ description }) => description);
    for (const code of ERROR_CODES)
      expect(descriptions.filter((text) => text.includes(code))).toHaveLength(1);
    expect(responses["503"]?.headers).toHaveProperty("retry-after");
    expect(responses["422"]?.description).toContain("not sent again");
    expect(responses["503"]?.description).toContain("sent again for up to 4 hours");
  });

  it("takes a title and a version", () => {
    const { info } = openApiDocument({ title: "Shop", version: "2.1.0" }) as unknown as OpenApi;
    expect(info).toMatchObject({ title: "Shop", version: "2.1.0" });
  });
});
