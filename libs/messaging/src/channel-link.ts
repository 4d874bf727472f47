import { connect, type ChannelModel, type ConfirmChannel, type RecoveringChannelModel } from 'amqplib';
import { withDeadline } from '@opentill/runtime/deadline';
import { destroyConnection, openGuardedChannel, type GuardedChannelOptions } from './guard-connection.ts';
import { messagingError } from './messaging-error.ts';
import { rotateHosts } from './rotate-hosts.ts';

/** blocked: open, but the broker blocks publishers. */
export type LinkState = 'connecting' | 'open' | 'blocked' | 'closed';

export interface LinkOptions extends Omit<GuardedChannelOptions, 'setupTimeoutMs' | 'isClosing'> {
  readonly url: string;
  readonly onOpen?: () => void;
  /** The broker reported NOT_FOUND for something that the channel needs. */
  readonly onMissing?: (what: string) => void;
  /** Limits connecting, and again opening and setting up the channel. @default 5000 */
  readonly setupTimeoutMs?: number;
}

/** A channel on its own connection; both are rebuilt together until the link is closed. */
export interface ChannelLink {
  readonly state: LinkState;
  readonly channel: ConfirmChannel | undefined;
  /** Rejects with BROKER_UNAVAILABLE or BROKER_REFUSED after `timeoutMs`. */
  untilOpen(timeoutMs: number): Promise<void>;
  /** Recovery builds a new connection. */
  drop(error: Error): void;
  close(): Promise<void>;
}

/** A dead peer is detected after three heartbeats (measured: 15 s). */
const HEARTBEAT_SECONDS = 5;
/** Applied twice: to the channel and to the connection. */
const CLOSE_TIMEOUT_MS = 1_000;

/** `current` is set exactly while `state` is open or blocked. */
interface LinkMemory {
  state: LinkState;
  current: { readonly model: ChannelModel; readonly channel: ConfirmChannel } | undefined;
  lastError: Error | undefined;
  readonly waiters: Set<() => void>;
}

/**
 * amqplib's recovery with guards (guard-connection.ts). A closed channel costs its connection, so each link has one.
 */
export function openLink(options: LinkOptions): ChannelLink {
  const memory: LinkMemory = {
    state: 'connecting',
    current: undefined,
    lastError: undefined,
    waiters: new Set(),
  };
  const recovering = startRecovering(options, memory);

  return {
    get state() {
      return memory.state;
    },
    get channel() {
      return memory.current?.channel;
    },
    async untilOpen(timeoutMs) {
      if (memory.current !== undefined) return;
      if (memory.state === 'closed')
        throw messagingError('BROKER_UNAVAILABLE', 'the broker connection is closed');
      let wake: () => void = () => undefined;
      const open = new Promise<void>((resolve) => (wake = resolve));
      memory.waiters.add(wake);
      const timeout = () => notReached(options.name, timeoutMs, memory.lastError);
      await withDeadline(timeoutMs, () => open, timeout).finally(() => memory.waiters.delete(wake));
    },
    drop(error) {
      if (memory.current !== undefined) destroyConnection(memory.current.model, error);
    },
    async close() {
      memory.state = 'closed';
      const present = memory.current;
      const timeout = () => new Error('the broker did not answer the close');
      if (present !== undefined) {
        // amqplib sends the connection's close frame ahead of queued channel frames, which loses the last acks
        // (measured: all of them). After a channel close only acks beyond 32 are lost, the number a quorum queue takes
        // at once.
        await withDeadline(CLOSE_TIMEOUT_MS, async () => present.channel.close(), timeout).catch(
          () => undefined,
        );
      }
      const connection = await recovering;
      await withDeadline(CLOSE_TIMEOUT_MS, () => connection.close(), timeout).catch((error: Error) => {
        if (present !== undefined) destroyConnection(present.model, error);
      });
    },
  };
}

async function startRecovering(options: LinkOptions, memory: LinkMemory): Promise<RecoveringChannelModel> {
  const setupTimeoutMs = options.setupTimeoutMs ?? 5_000;
  const hosts = rotateHosts(options.url, HEARTBEAT_SECONDS);
  const connection = await connect(hosts.address, {
    timeout: setupTimeoutMs,
    noDelay: true,
    keepAlive: true,
    clientProperties: { connection_name: options.name },
    recovery: {
      initialDelay: 100,
      maxDelay: 3_000,
      factor: 2,
      jitter: 0.2,
      waitForConnect: false,
      setup: async (model: ChannelModel) => {
        const channel = await openGuardedChannel(model, {
          ...options,
          setupTimeoutMs,
          isClosing: () => memory.state === 'closed',
        });
        opened(options, memory, model, channel);
      },
    },
  });
  connection.on('error', () => undefined); // the connection's 'close' reports it as well
  connection.on('disconnect', hosts.next);
  connection.on('connect-failed', (error: Error) => {
    memory.lastError = error;
    const host = hosts.current();
    hosts.next();
    if (memory.state === 'closed') return;
    options.logger.warn('broker not reached', { link: options.name, host, error });
    if (isMissing(error)) options.onMissing?.(options.name);
  });
  return connection;
}

function opened(
  options: LinkOptions,
  memory: LinkMemory,
  model: ChannelModel,
  channel: ConfirmChannel,
): void {
  if (memory.state === 'closed') return; // recovery closes the connection itself
  memory.current = { model, channel };
  memory.state = 'open';
  model.on('error', (error) => (memory.lastError = error));
  model.once('close', (error) => lost(options, memory, error));
  model.on('blocked', (reason) => {
    if (memory.state === 'open') memory.state = 'blocked';
    options.logger.warn('broker blocks publishers', { link: options.name, reason });
  });
  model.on('unblocked', () => {
    if (memory.state === 'blocked') memory.state = 'open';
    options.logger.info('broker unblocked publishers', { link: options.name });
    options.onOpen?.();
  });
  options.logger.info('broker connected', { link: options.name });
  options.onOpen?.();
  for (const wake of memory.waiters) wake();
}

function lost(options: LinkOptions, memory: LinkMemory, error: Error | undefined): void {
  memory.current = undefined;
  if (memory.state === 'closed') return;
  const reason = error ?? memory.lastError ?? new Error('connection closed');
  memory.state = 'connecting';
  options.logger.warn('broker connection lost', { link: options.name, error: reason });
  if (isMissing(reason)) options.onMissing?.(options.name);
}

/**
 * amqplib reports handshake refusals only as text: "Handshake terminated by server: 403 (…". A missing virtual host and
 * one that is down look the same ("Expected ConnectionOpenOk; got …").
 */
function notReached(name: string, timeoutMs: number, cause: Error | undefined): Error {
  const refused = isRefusal(cause);
  return messagingError(
    refused ? 'BROKER_REFUSED' : 'BROKER_UNAVAILABLE',
    refused
      ? 'the broker rejected this user: check the user and password of AMQP_URL'
      : `the broker was not reached within ${timeoutMs} ms`,
    { link: name },
    cause,
  );
}

/** Handshake errors have no code. */
function isMissing(error: unknown): boolean {
  return (error as { readonly code?: unknown } | undefined)?.code === 404;
}

export function isRefusal(error: unknown): boolean {
  return error instanceof Error && /^Handshake terminated by server: 403\b/.test(error.message);
}
