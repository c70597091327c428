export { defineConfig, type Config } from "./config/config.ts";
export { ConfigError, loadConfig, type LoadedConfig } from "./config/load-config.ts";
export { sendMessage, type SendOptions, type SentMessage } from "./send/send-message.ts";
export { sampleCall, setField, SetError, type SampleCall } from "./send/sample-call.ts";
export { explainSignature, type ExplainInput, type Explanation } from "@countersign/server/explain";
export { importFile, type ImportOptions, type ImportReport } from "./import/import-calls.ts";
export { listen, type Listener, type ListenOptions } from "./listen/listen.ts";
export type { Heard } from "./listen/heard.ts";
export { replay, type ReplayedRequest, type ReplayOptions, type ReplayReport } from "./replay/replay.ts";
