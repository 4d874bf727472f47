import { connect, type Channel, type ChannelModel, type ConfirmChannel } from 'amqplib';
import { withDeadline } from '@opentill/runtime/deadline';
import { isRefusal } from './channel-link.ts';
import { destroyConnection } from './guard-connection.ts';
import { messagingError } from './messaging-error.ts';

/** A connection for a task, not for service: it is not rebuilt. Every call has a time limit and names what failed. */
export interface Session {
  /** @throws GatewayError BROKER_REFUSED when the user may not, else TOPOLOGY_BROKEN. */
  call<T>(what: string, work: () => Promise<T>): Promise<T>;
  openChannel(): Promise<Channel>;
  openConfirmChannel(): Promise<ConfirmChannel>;
  close(): Promise<void>;
}

/**
 * @param signal breaks the session off at once, without a goodbye that a silent broker would not answer: what is under way
 *   fails, and so does everything after
 * @throws GatewayError BROKER_UNAVAILABLE or BROKER_REFUSED
 */
export async function openSession(
  url: string,
  callTimeoutMs: number,
  signal?: AbortSignal,
): Promise<Session> {
  const model = await open(url, callTimeoutMs, signal);
  model.on('error', () => undefined); // the call in progress rejects as well
  const breakOff = () => destroyConnection(model, brokenOff());
  signal?.addEventListener('abort', breakOff, { once: true });
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
    channel.on('error', () => undefined); // the call in progress rejects as well
    return channel;
  }

  return {
    call,
    openChannel: () => openChannel(() => model.createChannel()),
    openConfirmChannel: () => openChannel(() => model.createConfirmChannel()),
    async close() {
      signal?.removeEventListener('abort', breakOff);
      if (signal?.aborted === true) return;
      const timeout = () => new Error('no answer');
      await withDeadline(2_000, () => Promise.race([model.close(), aborted]), timeout).catch((error: Error) =>
        destroyConnection(model, error),
      );
    },
  };
}

/** Whether a broker has a queue or an exchange. Asking for what does not exist costs the channel: each question has its own. */
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

const brokenOff = () => new Error('broken off');

/** Rejects when the signal aborts; never, without one. */
function whenAborted(signal: AbortSignal | undefined): Promise<never> {
  const aborted = new Promise<never>((_resolve, reject) => {
    if (signal?.aborted === true) reject(brokenOff());
    signal?.addEventListener('abort', () => reject(brokenOff()), { once: true });
  });
  aborted.catch(() => undefined); // heard by whoever waits then
  return aborted;
}

async function open(url: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<ChannelModel> {
  const connecting = connect(url, {
    timeout: timeoutMs,
    noDelay: true, // else every refusal that closes a channel waits 40 ms for the acknowledgement of the one before
    clientProperties: { connection_name: 'opentill topology' },
  });
  try {
    return await withDeadline(
      timeoutMs,
      () => Promise.race([connecting, whenAborted(signal)]),
      () => new Error(`no answer within ${timeoutMs} ms`),
    );
  } catch (error) {
    // One that comes about after all is nobody's.
    connecting.then(
      (model) => {
        model.on('error', () => undefined);
        destroyConnection(model, brokenOff());
      },
      () => undefined,
    );
    const code = isRefusal(error) ? 'BROKER_REFUSED' : 'BROKER_UNAVAILABLE';
    throw messagingError(code, 'cannot open the broker', {}, error);
  }
}
