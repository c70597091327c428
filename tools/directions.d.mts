export const ALLOWED_DIRECTIONS: Readonly<Record<string, readonly string[]>>;
export const LAYERS: Readonly<Record<string, readonly string[]>>;
