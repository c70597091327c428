import { afterEach } from "vitest";
import { assertDescribed } from "./described-answers.ts";

afterEach(assertDescribed);
