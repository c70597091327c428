export function writePublishable(folder: string, target: string): Promise<void>;
export function installPublishable(target: string): Promise<void>;
export function packPublishable(target: string): Promise<Map<string, string>>;
