export {
  formatRecordedRequest,
  parseRecordedRequest,
  RecordingError,
  type RecordedRequest,
} from "./recording/recording.ts";
