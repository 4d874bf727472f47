import { connect, type Channel, type ChannelModel, type ConfirmChannel } from 'amqplib';
import { withDeadline } from '@opentill/runtime/deadline';
import { isRefusal } from './channel-link.ts';
import { messagingError } from './messaging-error.ts';

/** A connection for a task, not for service: it is not rebuilt. Every call has a time limit and names what failed. */
export interface Session {
  /** @throws GatewayError BROKER_REFUSED when the user may not, else TOPOLOGY_BROKEN. */
  call<T>(what: string, work: () => Promise<T>): Promise<T>;
  openChannel(): Promise<Channel>;
  openConfirmChannel(): Promise<ConfirmChannel>;
  close(): Promise<void>;
}

/** @throws GatewayError BROKER_UNAVAILABLE or BROKER_REFUSED */
export async function openSession(url: string, callTimeoutMs: number): Promise<Session> {
  const model = await open(url, callTimeoutMs);
  model.on('error', () => undefined); // the call in progress rejects as well

  async function call<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await withDeadline(callTimeoutMs, work, () => new Error(`no answer within ${callTimeoutMs} ms`));
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
    close: () =>
      withDeadline(
        2_000,
        () => model.close(),
        () => new Error('no answer'),
      ).catch(() => undefined),
  };
}

async function open(url: string, timeoutMs: number): Promise<ChannelModel> {
  try {
    return await withDeadline(
      timeoutMs,
      () => connect(url, { timeout: timeoutMs, clientProperties: { connection_name: 'opentill topology' } }),
      () => new Error(`no answer within ${timeoutMs} ms`),
    );
  } catch (error) {
    const code = isRefusal(error) ? 'BROKER_REFUSED' : 'BROKER_UNAVAILABLE';
    throw messagingError(code, 'cannot open the broker', {}, error);
  }
}
