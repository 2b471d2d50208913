const WAIT_MS = 400;

/** Loads a part of the console, once more when the network failed for a moment. */
export function again<T>(load: () => Promise<T>): () => Promise<T> {
  return async () => {
    try {
      return await load();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
      return load();
    }
  };
}
