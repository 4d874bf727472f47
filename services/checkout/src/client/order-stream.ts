import type { CheckoutOrder } from '../view/checkout-order.ts';

export interface OrderStream {
  readonly readyState: number;
  addEventListener(name: string, listener: (event: { readonly data?: unknown }) => void): void;
  close(): void;
}

export interface KeepStreamDeps {
  /** Undefined in a browser without server-sent events. */
  readonly open: (() => OrderStream) | undefined;
  readonly onOrder: (order: CheckoutOrder) => void;
  readonly onSpeaking: () => void;
  readonly onSilent: () => void;
}

export interface KeptStream {
  start(): void;
  renew(): void;
  isSpeaking(): boolean;
  stop(): void;
}

/** The server sends a ping every 15 s. Longer silence means that a proxy holds the stream back. */
const SILENCE_MS = 40_000;
const RETRY_MS = 30_000;
const CLOSED = 2;

/** The browser reconnects after a break, but not after a refusal or when an open stream is silent. */
export function openOrderStream({ open, onOrder, onSpeaking, onSilent }: KeepStreamDeps): KeptStream {
  let stream: OrderStream | undefined;
  let speaking = false;
  let stopped = false;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;

  function onMessage(): void {
    speaking = true;
    clearTimeout(silence);
    silence = setTimeout(() => close(), SILENCE_MS);
    onSpeaking();
  }

  function becomeSilent(): void {
    clearTimeout(silence);
    if (!speaking) return;
    speaking = false;
    onSilent();
  }

  function close(): void {
    stream?.close();
    stream = undefined;
    becomeSilent();
    clearTimeout(retry);
    retry = setTimeout(start, RETRY_MS);
  }

  function start(): void {
    if (stopped || open === undefined) return;
    const opened = open();
    stream = opened;
    const isCurrent = (): boolean => opened === stream;
    opened.addEventListener('ping', () => isCurrent() && onMessage());
    opened.addEventListener('order', ({ data }) => {
      if (!isCurrent()) return;
      onMessage();
      onOrder(JSON.parse(String(data)) as CheckoutOrder);
    });
    opened.addEventListener('error', () => {
      if (!isCurrent()) return;
      if (opened.readyState === CLOSED) close();
      else becomeSilent();
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
