import type { Socket } from 'node:net';
import { connect, type Channel, type ChannelModel, type ConfirmChannel } from 'amqplib';
import { withDeadline } from '@opentill/runtime/deadline';
import type { Logger } from '@opentill/runtime/logger';
import { messagingError } from './messaging-error.ts';

/** connecting: no channel now, recovery is at work. blocked: open, but the broker holds publishers back. */
export type LinkState = 'connecting' | 'open' | 'blocked' | 'closed';

export interface LinkOptions<C extends Channel> {
  readonly url: string;
  /** Shown by the broker's tools as the connection's name. */
  readonly name: string;
  readonly logger: Logger;
  readonly createChannel: (model: ChannelModel) => Promise<C>;
  /** Prepares each new channel (prefetch, consume, listeners); a failure, or calling `drop`, gives it up. */
  readonly setup: (channel: C, drop: (error: Error) => void) => Promise<void>;
  /** Told after each successful setup. */
  readonly onOpen?: () => void;
  /** Told when an open channel is gone: nothing sent on it will be answered any more. */
  readonly onLost?: (error: Error) => void;
  /** Limit for connecting, and again for opening and preparing the channel. @default 5000 */
  readonly setupTimeoutMs?: number;
}

/** One channel on a connection of its own, rebuilt together for as long as the link is not closed. */
export interface ChannelLink<C extends Channel> {
  readonly state: LinkState;
  /** The channel to use now, if there is one. */
  readonly channel: C | undefined;
  /** Resolves once the channel is open; rejects with BROKER_UNAVAILABLE or BROKER_REFUSED after `timeoutMs`. */
  untilOpen(timeoutMs: number): Promise<void>;
  /** Gives the present connection up, since it no longer does what it should; recovery builds a new one. */
  drop(error: Error): void;
  close(): Promise<void>;
}

/** A dead peer is noticed after three of these (measured: 15 s). */
const HEARTBEAT_SECONDS = 5;
const CLOSE_TIMEOUT_MS = 2_000;
const LINGER_MS = 1_000;

export const openChannel = (model: ChannelModel): Promise<Channel> => model.createChannel();
export const openConfirmChannel = (model: ChannelModel): Promise<ConfirmChannel> =>
  model.createConfirmChannel();

/**
 * Opens a link on amqplib's recovery, which alone does not notice enough:
 * - it rebuilds connections, not channels: a channel that closes takes its connection with it here, on purpose, and
 *   each link has its own connection, so that no other consumer or publisher suffers by it;
 * - its set-up has no time limit, and a failed one waits for the broker's goodbye, for ever if the broker is gone:
 *   here the socket is destroyed first, with an error, which is the only way that is noticed at once;
 * - until set-up is done nobody listens for the connection's errors, which would end the process.
 */
export function openLink<C extends Channel>(options: LinkOptions<C>): ChannelLink<C> {
  const { logger, name } = options;
  const setupTimeoutMs = options.setupTimeoutMs ?? 5_000;
  const waiters = new Set<() => void>();
  let state: LinkState = 'connecting';
  let current: { readonly model: ChannelModel; readonly channel: C } | undefined;
  let lastError: Error | undefined;

  async function setUp(model: ChannelModel): Promise<void> {
    model.on('error', (error) => (lastError = error)); // first of all: an 'error' nobody hears ends the process
    const closed = onceClosed(model);
    try {
      const work = async () => {
        const channel = await options.createChannel(model);
        supervise(model, channel);
        await options.setup(channel, (error) => destroy(model, error));
        return channel;
      };
      const timeout = () => new Error(`channel was not ready within ${setupTimeoutMs} ms`);
      const channel = await withDeadline(
        setupTimeoutMs,
        () => Promise.race([work(), closed.failed]),
        timeout,
      );
      if (closed.isClosed()) throw lastError ?? new Error('connection closed');
      opened(model, channel);
    } catch (error) {
      destroy(model, asError(error));
      await closed.settled;
      throw error;
    }
  }

  function supervise(model: ChannelModel, channel: C): void {
    let reason = new Error('channel closed');
    channel.on('error', (error) => (reason = error));
    channel.on('close', () => destroy(model, reason));
    const onHandlerError = (error: Error, event: string) => {
      logger.error('broker listener failed', { link: name, event, error });
      destroy(model, error);
    };
    channel.on('handler-error', onHandlerError);
    model.on('handler-error', onHandlerError);
  }

  function opened(model: ChannelModel, channel: C): void {
    current = { model, channel };
    state = 'open';
    model.on('blocked', (reason) => {
      state = 'blocked';
      logger.warn('broker blocks publishers', { link: name, reason });
    });
    model.on('unblocked', () => {
      state = 'open';
      logger.info('broker takes messages again', { link: name });
    });
    model.once('close', (error) => lost(model, error));
    logger.info('broker connected', { link: name });
    options.onOpen?.();
    for (const wake of waiters) wake();
  }

  function lost(model: ChannelModel, error: Error | undefined): void {
    if (current?.model !== model) return;
    current = undefined;
    const reason = error ?? lastError ?? new Error('connection closed');
    if (state !== 'closed') {
      state = 'connecting';
      logger.warn('broker connection lost', { link: name, error: reason });
    }
    options.onLost?.(reason);
  }

  const recovering = connect(withHeartbeat(options.url), {
    timeout: setupTimeoutMs,
    noDelay: true,
    keepAlive: true,
    clientProperties: { connection_name: name },
    recovery: {
      initialDelay: 100,
      maxDelay: 3_000,
      factor: 2,
      jitter: 0.2,
      waitForConnect: false,
      setup: setUp,
    },
  }).then((connection) => {
    connection.on('error', () => undefined); // told by 'close' as well
    connection.on('connect-failed', (error) => {
      lastError = error as Error;
      if (state !== 'closed') logger.warn('broker not reached', { link: name, error: error as Error });
    });
    return connection;
  });

  return {
    get state() {
      return state;
    },
    get channel() {
      return current?.channel;
    },
    async untilOpen(timeoutMs) {
      if (current !== undefined) return;
      if (state === 'closed') throw messagingError('BROKER_UNAVAILABLE', 'the broker connection is closed');
      let wake: () => void = () => undefined;
      const open = new Promise<void>((resolve) => (wake = resolve));
      waiters.add(wake);
      try {
        await withDeadline(
          timeoutMs,
          () => open,
          () => notReached(name, timeoutMs, lastError),
        );
      } finally {
        waiters.delete(wake);
      }
    },
    drop(error) {
      if (current !== undefined) destroy(current.model, error);
    },
    async close() {
      state = 'closed';
      const model = current?.model;
      const connection = await recovering;
      const timeout = () => new Error('the broker did not answer the close');
      await withDeadline(CLOSE_TIMEOUT_MS, () => connection.close(), timeout).catch((error: Error) => {
        if (model !== undefined) destroy(model, error);
      });
    },
  };
}

/** Closing must work on a peer that is silent: no farewell, an error so that amqplib notices. */
function destroy(model: ChannelModel, error: Error): void {
  socketOf(model).destroy(error);
}

/** amqplib offers no way to end a connection without the broker's consent; the socket is not in its types. */
function socketOf(model: ChannelModel): Socket {
  return (model.connection as unknown as { readonly stream: Socket }).stream;
}

interface Closed {
  /** Rejects when the connection closes. */
  readonly failed: Promise<never>;
  /** Resolves when the connection closes. */
  readonly settled: Promise<void>;
  isClosed(): boolean;
}

function onceClosed(model: ChannelModel): Closed {
  let closed = false;
  const failed = new Promise<never>((_resolve, reject) => {
    model.once('close', (error) => {
      closed = true;
      // amqplib only says goodbye; without an answer the socket would stay.
      setTimeout(() => socketOf(model).destroy(), LINGER_MS).unref();
      reject(error ?? new Error('connection closed'));
    });
  });
  const settled = failed.catch(() => undefined);
  return { failed, settled, isClosed: () => closed };
}

function withHeartbeat(url: string): string {
  const parsed = new URL(url);
  if (!parsed.searchParams.has('heartbeat')) parsed.searchParams.set('heartbeat', String(HEARTBEAT_SECONDS));
  return parsed.href;
}

/** The handshake's refusals have no code in amqplib, only their text: "Handshake terminated by server: 403 (…". */
function notReached(name: string, timeoutMs: number, cause: Error | undefined): Error {
  const refused =
    /(Handshake terminated by server|Connection closed): (403|530)\b|ACCESS_REFUSED|NOT_ALLOWED/.test(
      cause?.message ?? '',
    );
  return messagingError(
    refused ? 'BROKER_REFUSED' : 'BROKER_UNAVAILABLE',
    refused
      ? 'the broker refuses this user or virtual host'
      : `the broker was not reached within ${timeoutMs} ms`,
    { link: name },
    cause,
  );
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
