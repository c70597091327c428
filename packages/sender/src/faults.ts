export { faultyTransport, type FaultyTransport } from "./faults/faulty-transport.ts";
export {
  type Fault,
  FAULT_PATTERN,
  FAULTS,
  type FaultScope,
  type InjectedFault,
  isFault,
  STALE_SECRET,
} from "./faults/fault.ts";
export type { BodyWriter, Wire } from "./transport/transport.ts";
