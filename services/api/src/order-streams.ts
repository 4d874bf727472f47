import type { ServerResponse } from 'node:http';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Observe } from './observe.ts';
import type { Store } from './store/create-store.ts';
import type { WatchedOrder } from './store/watch-orders.ts';

/** How many streams there may be at a time. Who asks for more is told to poll. */
export interface StreamLimits {
  readonly perOrder: number;
  readonly perClientAddress: number;
  readonly whole: number;
}

export const DEFAULT_STREAM_LIMITS: StreamLimits = { perOrder: 8, perClientAddress: 64, whole: 2_000 };

/** What is watched: an order of a merchant. */
export interface OrderKey {
  readonly merchantId: string;
  readonly orderId: string;
}

/** What a stream begins with. */
export interface FirstOrder extends StreamedOrder {
  /** Of before the order was read; undefined: it is told once more. */
  readonly fingerprint: string | undefined;
}

/** What a stream says of its order. */
export interface StreamedOrder {
  /** One line of JSON. */
  readonly data: string;
  /** Nothing more will happen: the stream ends with this. */
  readonly settled: boolean;
}

export interface OrderStreamsDeps {
  readonly store: Pick<Store, 'watchOrders'>;
  /** The order as it is now. */
  readonly read: (key: OrderKey) => Promise<StreamedOrder | undefined>;
  readonly observe: Pick<Observe, 'streamsFailed'>;
  readonly limits: StreamLimits;
}

/** The open streams of this process. */
export interface OrderStreams {
  /**
   * Takes the place of one more stream, or says which limit stands against it. The place is given back when the
   * response closes, from now on and whether or not the stream begins; by `leave`; or when it has not begun in time.
   */
  enter(
    key: OrderKey,
    clientAddress: string,
    response: ServerResponse,
  ): StreamPlace | 'ORDER_FULL' | 'CLIENT_FULL' | 'FULL';
  count(): number;
  start(): void;
  /** Ends all streams, so that their browsers connect again, to another replica where there is one. */
  stop(): Promise<void>;
}

export interface StreamPlace {
  /** Begins to speak on the response, with the order as it is; ends it where the place is given back already. */
  begin(first: FirstOrder): void;
  leave(): void;
}

/** One look at all watched orders together, however many there are; none while nobody watches. */
const LOOK_EVERY_MS = 500;
const PING_EVERY_MS = 15_000;
/** So that streams spread over replicas that came later, and nothing lives for ever. */
const LIFETIME_MS = 15 * 60_000;
/** Longer than the queries before a stream may take. */
const BEGIN_WITHIN_MS = 30_000;
/** Orders read at a time after a look. */
const READS_AT_ONCE = 4;
/** Who doesn't take what was said is dropped; an order is about a kilobyte. */
const UNSENT_BYTES_MAX = 64 * 1024;
const RECONNECT_MS = 2_000;

interface Stream {
  readonly key: OrderKey;
  readonly clientAddress: string;
  response: ServerResponse | undefined;
  /** What was known of the order when it was last told. */
  seen: string | undefined;
  /** Until it begins: the end of its place. From then on: its own end. */
  lifetime: NodeJS.Timeout | undefined;
}

/**
 * Server-sent events of orders. The process looks twice a second at what the tracker and the scanners have written of
 * all orders that somebody watches, in one query by keys, and reads and tells those alone that have changed. So a
 * connection costs memory, and no query of its own.
 */
export function createOrderStreams(deps: OrderStreamsDeps): OrderStreams {
  const streams = new Set<Stream>();
  let loop: Loop | undefined;
  let ping: NodeJS.Timeout | undefined;
  const leave = (stream: Stream): void => {
    streams.delete(stream);
    clearTimeout(stream.lifetime);
  };
  return {
    count: () => streams.size,
    enter(key, clientAddress, response) {
      const full = fullLimit(streams, deps.limits, key, clientAddress);
      if (full !== undefined) return full;
      const stream: Stream = {
        key,
        clientAddress,
        response: undefined,
        seen: undefined,
        lifetime: undefined,
      };
      streams.add(stream);
      // A client that goes while its order is being read never gets to `begin`.
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
          say(stream, `retry: ${RECONNECT_MS}\n\n`);
          tell(stream, first);
        },
      };
    },
    start() {
      loop = startLoop({
        name: 'order streams',
        intervalMs: LOOK_EVERY_MS,
        run: () => look(deps, streams),
        onError: deps.observe.streamsFailed,
      });
      ping = setInterval(() => {
        for (const stream of streams) say(stream, 'event: ping\ndata: \n\n');
      }, PING_EVERY_MS);
    },
    async stop() {
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

async function look(deps: OrderStreamsDeps, streams: ReadonlySet<Stream>): Promise<void> {
  const speaking = [...streams].filter(({ response }) => response !== undefined);
  if (speaking.length === 0) return;
  const byOrder = Map.groupBy(speaking, ({ key }) => nameOf(key));
  const watched = await deps.store.watchOrders([...byOrder.values()].map(([stream]) => keyOfFirst(stream)));
  const changed = watched
    .map((row) => ({
      row,
      behind: (byOrder.get(nameOf(row)) ?? []).filter(({ seen }) => seen !== row.fingerprint),
    }))
    .filter(({ behind }) => behind.length > 0);
  for (let i = 0; i < changed.length; i += READS_AT_ONCE) {
    await Promise.all(changed.slice(i, i + READS_AT_ONCE).map((change) => tellChange(deps, change)));
  }
}

async function tellChange(
  deps: OrderStreamsDeps,
  { row, behind }: { readonly row: WatchedOrder; readonly behind: readonly Stream[] },
): Promise<void> {
  const { merchantId, orderId, fingerprint } = row;
  const order = await deps.read({ merchantId, orderId });
  for (const stream of behind) {
    // Of before it was read, so that a change in between is told once more rather than not at all.
    stream.seen = fingerprint;
    if (order !== undefined) tell(stream, order);
  }
}

function tell(stream: Stream, { data, settled }: StreamedOrder): void {
  say(stream, `event: order\ndata: ${data}\n\n`);
  if (settled) stream.response?.end();
}

function say({ response }: Stream, text: string): void {
  if (response === undefined || response.destroyed || response.writableEnded) return;
  response.write(text);
  if (response.writableLength > UNSENT_BYTES_MAX) response.destroy();
}

function keyOfFirst(stream: Stream | undefined): OrderKey {
  if (stream === undefined) throw new Error('a group has at least one member');
  return stream.key;
}

/** A merchant's id has no space in it. */
function nameOf({ merchantId, orderId }: OrderKey): string {
  return `${merchantId} ${orderId}`;
}
