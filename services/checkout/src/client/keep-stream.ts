import type { CheckoutOrder } from '../view/checkout-order.ts';

/** What of an EventSource is used. */
export interface OrderStream {
  readonly readyState: number;
  addEventListener(name: string, listener: (event: { readonly data?: unknown }) => void): void;
  close(): void;
}

export interface KeepStreamDeps {
  /** Undefined where the browser has no server-sent events. */
  readonly open: (() => OrderStream) | undefined;
  readonly onOrder: (order: CheckoutOrder) => void;
  /** The server has said something, whatever. */
  readonly onSpeaking: () => void;
  /** It broke or fell silent after it had spoken. */
  readonly onSilent: () => void;
}

export interface KeptStream {
  start(): void;
  /** Closes it, whatever it has still to say, and opens another one. */
  renew(): void;
  isSpeaking(): boolean;
  /** For good. */
  stop(): void;
}

/** The server says something every 15 s; silence means that something between holds the stream back. */
const SILENCE_MS = 40_000;
const RETRY_MS = 30_000;
const CLOSED = 2;

/**
 * Keeps the server's stream open: the browser connects again by itself after a break; after a refusal, or when a stream
 * that stands says nothing, a new one is opened a while later.
 */
export function keepStream({ open, onOrder, onSpeaking, onSilent }: KeepStreamDeps): KeptStream {
  let stream: OrderStream | undefined;
  let speaking = false;
  let stopped = false;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;

  function heard(): void {
    speaking = true;
    clearTimeout(silence);
    silence = setTimeout(() => close(), SILENCE_MS);
    onSpeaking();
  }

  function fallSilent(): void {
    clearTimeout(silence);
    if (!speaking) return;
    speaking = false;
    onSilent();
  }

  /** Another one is tried later. */
  function close(): void {
    stream?.close();
    stream = undefined;
    fallSilent();
    clearTimeout(retry);
    retry = setTimeout(start, RETRY_MS);
  }

  function start(): void {
    if (stopped || open === undefined) return;
    const opened = open();
    stream = opened;
    const isCurrent = (): boolean => opened === stream;
    opened.addEventListener('ping', () => isCurrent() && heard());
    opened.addEventListener('order', ({ data }) => {
      if (!isCurrent()) return;
      heard();
      onOrder(JSON.parse(String(data)) as CheckoutOrder);
    });
    opened.addEventListener('error', () => {
      if (!isCurrent()) return;
      if (opened.readyState === CLOSED) close();
      else fallSilent();
    });
  }

  return {
    start,
    renew() {
      stream?.close();
      stream = undefined;
      speaking = false;
      clearTimeout(silence);
      clearTimeout(retry);
      start();
    },
    isSpeaking: () => speaking,
    stop() {
      stopped = true;
      speaking = false;
      stream?.close();
      stream = undefined;
      clearTimeout(silence);
      clearTimeout(retry);
    },
  };
}
