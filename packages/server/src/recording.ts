export { openRecorder, type Recorder, type RecordingOptions } from "./recording/recorder.ts";
export {
  formatRecordedRequest,
  parseRecordedRequest,
  RecordingError,
  type RecordedRequest,
} from "./recording/recording.ts";
