/** Why a request was not done: the server's problem document as an exception. */
export class Refused extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  readonly status: number;
  readonly requestId: string | undefined;

  constructor(status: number, code: string, message: string, hint?: string, requestId?: string) {
    super(message);
    this.name = "Refused";
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.requestId = requestId;
  }

  /** Reads a problem document; anything else becomes `internal`. */
  static of(status: number, body: unknown): Refused {
    const b = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
    const text = (key: string) => (typeof b[key] === "string" ? (b[key] as string) : undefined);
    return new Refused(
      status,
      text("code") ?? (status === 401 ? "unauthenticated" : status === 404 ? "not-found" : "internal"),
      text("detail") ?? text("title") ?? `HTTP ${status}`,
      text("hint"),
      text("request_id"),
    );
  }
}

/** The code of an error; `offline` where the server could not be asked at all. */
export function codeOf(error: unknown): string {
  return error instanceof Refused ? error.code : "offline";
}
