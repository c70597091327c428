export { Budget } from "./budget.tsx";
export { Certify } from "./certify.tsx";
export { Faults } from "./faults.tsx";
export { Recover } from "./recover.tsx";
export { Rejected } from "./rejected.tsx";
export { Send } from "./send/send.tsx";
export { Settings } from "./settings/settings.tsx";
