import { connect, type Channel, type ChannelModel, type ConfirmChannel } from 'amqplib';
import { hostOf, urlPerHost } from '@opentill/contracts/server-url';
import { GatewayError } from '@opentill/domain/gateway-error';
import { withDeadline } from '@opentill/runtime/deadline';
import { isRefusal } from './channel-link.ts';
import { destroyConnection } from './guard-connection.ts';
import { messagingError } from './messaging-error.ts';

/** A one-off task uses it: it does not reconnect. Every call has a time limit, and its error names the call. */
export interface Session {
  /** @throws GatewayError BROKER_REFUSED without permission, else TOPOLOGY_BROKEN. */
  call<T>(what: string, work: () => Promise<T>): Promise<T>;
  openChannel(): Promise<Channel>;
  openConfirmChannel(): Promise<ConfirmChannel>;
  close(): Promise<void>;
}

/**
 * `signal` destroys the connection without the closing handshake, which a silent broker would not answer.
 * @throws GatewayError BROKER_UNAVAILABLE or BROKER_REFUSED
 */
export async function openSession(
  url: string,
  callTimeoutMs: number,
  signal?: AbortSignal,
): Promise<Session> {
  const model = await openAny(url, callTimeoutMs, signal);
  model.on('error', () => undefined); // the pending call rejects as well
  const abort = () => destroyConnection(model, abortedError());
  signal?.addEventListener('abort', abort, { once: true });
  const aborted = whenAborted(signal);

  async function call<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      const timeout = () => new Error(`no answer within ${callTimeoutMs} ms`);
      return await withDeadline(callTimeoutMs, () => Promise.race([work(), aborted]), timeout);
    } catch (error) {
      const { code } = error as { code?: number };
      throw messagingError(code === 403 ? 'BROKER_REFUSED' : 'TOPOLOGY_BROKEN', `${what} failed`, {}, error);
    }
  }
  async function openChannel<C extends Channel>(create: () => Promise<C>): Promise<C> {
    const channel = await call('opening a channel', create);
    channel.on('error', () => undefined); // the pending call rejects as well
    return channel;
  }

  return {
    call,
    openChannel: () => openChannel(() => model.createChannel()),
    openConfirmChannel: () => openChannel(() => model.createConfirmChannel()),
    async close() {
      signal?.removeEventListener('abort', abort);
      if (signal?.aborted === true) return;
      const timeout = () => new Error('no answer');
      await withDeadline(2_000, () => Promise.race([model.close(), aborted]), timeout).catch((error: Error) =>
        destroyConnection(model, error),
      );
    },
  };
}

/** Opens a channel for each check, since AMQP closes the channel on NOT_FOUND. */
export async function exists(session: Session, kind: 'exchange' | 'queue', name: string): Promise<boolean> {
  const channel = await session.openChannel();
  const found = await session.call(`looking for ${name}`, async () => {
    try {
      await (kind === 'queue' ? channel.checkQueue(name) : channel.checkExchange(name));
      return true;
    } catch (error) {
      if ((error as { code?: number }).code === 404) return false;
      throw error;
    }
  });
  if (found) await session.call('closing a channel', () => channel.close());
  return found;
}

const abortedError = () => new Error('aborted');

function whenAborted(signal: AbortSignal | undefined): Promise<never> {
  const aborted = new Promise<never>((_resolve, reject) => {
    if (signal?.aborted === true) reject(abortedError());
    signal?.addEventListener('abort', () => reject(abortedError()), { once: true });
  });
  aborted.catch(() => undefined); // callers that race it see the rejection
  return aborted;
}

/** Tries the hosts in turn, each with the time limit. A refused user is refused by all. */
async function openAny(
  url: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<ChannelModel> {
  const failures: string[] = [];
  let last: unknown;
  for (const one of urlPerHost(url)) {
    try {
      return await open(one, timeoutMs, signal);
    } catch (error) {
      last = error;
      if (signal?.aborted === true || (error instanceof GatewayError && error.code === 'BROKER_REFUSED'))
        break;
      failures.push(`${hostOf(one)}: ${String((error as Error).cause)}`);
    }
  }
  if (failures.length < 2) throw last;
  throw messagingError(
    'BROKER_UNAVAILABLE',
    `cannot open the broker at any host: ${failures.join('; ')}`,
    {},
    last,
  );
}

async function open(url: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<ChannelModel> {
  const connecting = connect(url, {
    timeout: timeoutMs,
    noDelay: true, // else each channel-closing error waits 40 ms for the TCP acknowledgement of the previous one
    clientProperties: { connection_name: 'opentill topology' },
  });
  try {
    return await withDeadline(
      timeoutMs,
      () => Promise.race([connecting, whenAborted(signal)]),
      () => new Error(`no answer within ${timeoutMs} ms`),
    );
  } catch (error) {
    connecting.then(
      (model) => {
        model.on('error', () => undefined);
        destroyConnection(model, abortedError());
      },
      () => undefined,
    );
    const code = isRefusal(error) ? 'BROKER_REFUSED' : 'BROKER_UNAVAILABLE';
    throw messagingError(code, 'cannot open the broker', {}, error);
  }
}
