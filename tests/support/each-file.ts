import { afterEach, vi } from "vitest";
import { patientWaitFor } from "./patient-waits.ts";
import { letGo } from "./resources.ts";

// A process runs many files of tests, and loads what they share once: a hook that shared code registers as it is loaded would be
// that of the first file alone. Vitest runs this for each.
vi.waitFor = patientWaitFor;
afterEach(letGo);
