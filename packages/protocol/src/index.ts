export { assertJson, mostParsedBytes } from "./assert-json.ts";
export { Bag, type BagItem } from "./bag.ts";
export {
  CALL_TYPES,
  type AliasCall,
  type Calls,
  type CallType,
  type CommonFields,
  type GroupCall,
  type IdentifyCall,
  type Identity,
  type PageCall,
  type PageProperties,
  type RecordedCall,
  type ScreenCall,
  type TrackCall,
} from "./calls.ts";
export { checkClock, LONGEST_TIMER_MS, type Clock, type ScheduledTask } from "./clock.ts";
export { parseDuration, roundedMs, type Duration } from "./duration.ts";
export { timeOrderedIds } from "./ids.ts";
export {
  describeValue,
  isBytes,
  isDate,
  isObject,
  nameKind,
  nestsDeeperThan,
  quote,
  type JsonObject,
  type JsonValue,
  misreadsKeys,
  parseAsWritten,
  parseJson,
  limitStacks,
} from "./json.ts";
export { isEveryAddress, listeningUrl } from "./listening-url.ts";
export {
  isMessageId,
  MAX_BATCH_BYTES,
  MAX_BATCH_MESSAGES,
  MAX_CALL_BYTES,
  MAX_MESSAGE_ID_LENGTH,
  MAX_NESTING,
  measureCall,
  utf8Bytes,
} from "./limits.ts";
export * from "./options.ts";
export { parseBack } from "./parse-back.ts";
export {
  assertSerializable,
  CALL_FIELDS,
  missingField,
  OBJECT_FIELDS,
  recordCall,
  serializeCall,
  TEXT_FIELDS,
  writeCall,
  type CallDefaults,
  type MissingField,
  type SerializedCall,
} from "./record-call.ts";
export { isSharedByRepeats, repeatContent } from "./repeat-content.ts";
export { parseRetryAfter } from "./retry-after.ts";
export { systemClock, type SystemClockOptions } from "./system-clock.ts";
export {
  codeOf,
  connectionMessageOf,
  errorOf,
  fileMessageOf,
  isError,
  messageOf,
  type ErrorRead,
} from "./thrown.ts";
export { formatTimestamp, isTimestamp, parseTimestamp } from "./timestamps.ts";
export { ValidationError, type CallRule } from "./validation-error.ts";
export { virtualClock, type VirtualClock } from "./virtual-clock.ts";
