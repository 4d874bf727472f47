import type { ServerResponse } from 'node:http';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Observe } from './observe.ts';
import type { Store } from './store/create-store.ts';
import type { WatchedOrder } from './store/watch-orders.ts';

/** Limits of concurrent streams. A client above a limit gets an error and polls instead. */
export interface StreamLimits {
  readonly perOrder: number;
  readonly perClientAddress: number;
  readonly whole: number;
}

export const DEFAULT_STREAM_LIMITS: StreamLimits = { perOrder: 8, perClientAddress: 64, whole: 2_000 };

export interface OrderKey {
  readonly merchantId: string;
  readonly orderId: string;
}

export interface FirstOrder extends StreamedOrder {
  /** Fingerprint from before the order was read. Undefined sends the order once more. */
  readonly fingerprint: string | undefined;
}

export interface StreamedOrder {
  /** One line of JSON. */
  readonly data: string;
  /** The order is final: the stream ends after this message. */
  readonly settled: boolean;
}

export interface OrderStreamsDeps {
  readonly store: Pick<Store, 'watchOrders'>;
  readonly read: (key: OrderKey) => Promise<StreamedOrder | undefined>;
  readonly observe: Pick<Observe, 'streamsFailed'>;
  readonly limits: StreamLimits;
}

export interface OrderStreams {
  /**
   * Reserves a slot for a stream, or returns the limit that is reached. The slot is released when the response closes,
   * by `leave`, or when the stream does not begin in time.
   */
  enter(
    key: OrderKey,
    clientAddress: string,
    response: ServerResponse,
  ): StreamSlot | 'ORDER_FULL' | 'CLIENT_FULL' | 'FULL';
  count(): number;
  start(): void;
  /** Ends all streams, so that their browsers connect again, to another replica where there is one. */
  stop(): Promise<void>;
}

export interface StreamSlot {
  /** Starts the stream with the current order. Ends the response when the slot was already released. */
  begin(first: FirstOrder): void;
  leave(): void;
}

/** Poll interval. One query covers all watched orders; none runs without streams. */
const POLL_INTERVAL_MS = 500;
const PING_EVERY_MS = 15_000;
/** Lets streams spread to new replicas, and bounds their lifetime. */
const LIFETIME_MS = 15 * 60_000;
/** Longer than the queries before a stream may take. */
const BEGIN_WITHIN_MS = 30_000;
const PARALLEL_READS = 4;
/** A client that does not read is disconnected above this; an order has about 1 kB. */
const UNSENT_BYTES_MAX = 64 * 1024;
const RECONNECT_MS = 2_000;

interface Stream {
  readonly key: OrderKey;
  readonly clientAddress: string;
  response: ServerResponse | undefined;
  /** Fingerprint of the order at the last message. */
  seen: string | undefined;
  /** Before the stream begins: the slot's timeout. Afterwards: the stream's. */
  lifetime: NodeJS.Timeout | undefined;
}

/**
 * Server-sent events of orders. Twice a second the process queries the fingerprints of all watched orders at once. It
 * reads and sends only the orders that changed. So a connection costs memory but no query of its own.
 */
export function createOrderStreams(deps: OrderStreamsDeps): OrderStreams {
  const streams = new Set<Stream>();
  let loop: Loop | undefined;
  let ping: NodeJS.Timeout | undefined;
  let stopping = false;
  const leave = (stream: Stream): void => {
    streams.delete(stream);
    clearTimeout(stream.lifetime);
  };
  return {
    count: () => streams.size,
    enter(key, clientAddress, response) {
      const full = stopping ? 'FULL' : fullLimit(streams, deps.limits, key, clientAddress);
      if (full !== undefined) return full;
      const stream: Stream = {
        key,
        clientAddress,
        response: undefined,
        seen: undefined,
        lifetime: undefined,
      };
      streams.add(stream);
      // A client may disconnect before `begin`, while its order is read.
      response.once('close', () => leave(stream));
      stream.lifetime = setTimeout(() => leave(stream), BEGIN_WITHIN_MS).unref();
      if (response.destroyed) leave(stream);
      return {
        leave: () => leave(stream),
        begin(first) {
          clearTimeout(stream.lifetime);
          if (!streams.has(stream)) {
            response.end();
            return;
          }
          stream.response = response;
          stream.seen = first.fingerprint;
          stream.lifetime = setTimeout(() => response.end(), LIFETIME_MS);
          write(stream, `retry: ${RECONNECT_MS}\n\n`);
          sendOrder(stream, first);
        },
      };
    },
    start() {
      loop = startLoop({
        name: 'order streams',
        intervalMs: POLL_INTERVAL_MS,
        run: () => poll(deps, streams),
        onError: deps.observe.streamsFailed,
      });
      ping = setInterval(() => {
        for (const stream of streams) write(stream, 'event: ping\ndata: \n\n');
      }, PING_EVERY_MS);
    },
    async stop() {
      stopping = true; // the server still accepts requests
      clearInterval(ping);
      for (const { response } of streams) response?.end();
      await loop?.stop();
    },
  };
}

function fullLimit(
  streams: ReadonlySet<Stream>,
  limits: StreamLimits,
  key: OrderKey,
  clientAddress: string,
): 'ORDER_FULL' | 'CLIENT_FULL' | 'FULL' | undefined {
  if (streams.size >= limits.whole) return 'FULL';
  let [ofOrder, ofClient] = [0, 0];
  for (const stream of streams) {
    if (nameOf(stream.key) === nameOf(key)) ofOrder += 1;
    if (stream.clientAddress === clientAddress) ofClient += 1;
  }
  if (ofOrder >= limits.perOrder) return 'ORDER_FULL';
  return ofClient >= limits.perClientAddress ? 'CLIENT_FULL' : undefined;
}

async function poll(deps: OrderStreamsDeps, streams: ReadonlySet<Stream>): Promise<void> {
  const active = [...streams].filter(({ response }) => response !== undefined);
  if (active.length === 0) return;
  const byOrder = Map.groupBy(active, ({ key }) => nameOf(key));
  const watched = await deps.store.watchOrders([...byOrder.values()].map(([stream]) => keyOfFirst(stream)));
  const changed = watched
    .map((row) => ({
      row,
      behind: (byOrder.get(nameOf(row)) ?? []).filter(({ seen }) => seen !== row.fingerprint),
    }))
    .filter(({ behind }) => behind.length > 0);
  for (let i = 0; i < changed.length; i += PARALLEL_READS) {
    await Promise.all(changed.slice(i, i + PARALLEL_READS).map((change) => sendChange(deps, change)));
  }
}

async function sendChange(
  deps: OrderStreamsDeps,
  { row, behind }: { readonly row: WatchedOrder; readonly behind: readonly Stream[] },
): Promise<void> {
  const { merchantId, orderId, fingerprint } = row;
  const order = await deps.read({ merchantId, orderId });
  for (const stream of behind) {
    // The fingerprint is older than the order read, so that a change in between is sent again rather than lost.
    stream.seen = fingerprint;
    if (order !== undefined) sendOrder(stream, order);
  }
}

function sendOrder(stream: Stream, { data, settled }: StreamedOrder): void {
  write(stream, `event: order\ndata: ${data}\n\n`);
  if (settled) stream.response?.end();
}

function write({ response }: Stream, text: string): void {
  if (response === undefined || response.destroyed || response.writableEnded) return;
  response.write(text);
  if (response.writableLength > UNSENT_BYTES_MAX) response.destroy();
}

function keyOfFirst(stream: Stream | undefined): OrderKey {
  if (stream === undefined) throw new Error('a group has at least one member');
  return stream.key;
}

/** Unique, because a merchant id contains no space. */
function nameOf({ merchantId, orderId }: OrderKey): string {
  return `${merchantId} ${orderId}`;
}
