import { EventParser } from "./sse";

/** How the event stream is. `waiting` lasts until the first connection. */
export type Link = "waiting" | "open" | "reconnecting";

/** Silence after which the connection is taken for dead; the server says something every 15 s. */
const SILENCE_MS = 40_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5_000;

type Listener = { event(data: string): void; link(link: Link): void; refused(): void };

/**
 * Follows `/v1/events` until the returned function is called. After a break it goes
 * on behind the last event that was read, so nothing is passed over.
 */
export function follow(listener: Listener): () => void {
  const stop = new AbortController();
  void loop(listener, stop.signal);
  return () => stop.abort();
}

async function loop(listener: Listener, stop: AbortSignal) {
  let last: string | undefined;
  let wait = FIRST_WAIT_MS;
  while (!stop.aborted) {
    try {
      const status = await once(last, stop, {
        opened: () => {
          wait = FIRST_WAIT_MS;
          listener.link("open");
        },
        event: (id, data) => {
          last = id ?? last;
          listener.event(data);
        },
      });
      if (status === 401) {
        listener.refused();
        return;
      }
    } catch {
      // Broken or silent: the next turn connects again.
    }
    if (stop.aborted) return;
    listener.link("reconnecting");
    await pause(wait, stop);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

type Once = { opened(): void; event(id: string | undefined, data: string): void };

async function once(last: string | undefined, stop: AbortSignal, on: Once): Promise<number> {
  const silence = new AbortController();
  const signal = AbortSignal.any([stop, silence.signal]);
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (last !== undefined) headers["Last-Event-ID"] = last;
    const response = await fetch("/v1/events", { headers, signal, credentials: "same-origin" });
    if (!response.ok || !response.body) return response.status;
    on.opened();
    const parser = new EventParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return response.status;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      for (const event of parser.push(value)) on.event(event.id, event.data);
    }
  } finally {
    clearTimeout(timer);
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    stop.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
