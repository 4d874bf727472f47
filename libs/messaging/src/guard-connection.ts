import type { Socket } from 'node:net';
import type { ChannelModel, ConfirmChannel } from 'amqplib';
import { withDeadline } from '@opentill/runtime/deadline';
import type { Logger } from '@opentill/runtime/logger';

export interface GuardedChannelOptions {
  readonly name: string;
  readonly logger: Logger;
  /** Prepares the new channel (prefetch, consume, listeners); a failure, or calling `drop`, gives it up. */
  readonly setup?: (channel: ConfirmChannel, drop: (error: Error) => void) => Promise<void>;
  /** Limit for creating and preparing the channel. */
  readonly setupTimeoutMs: number;
  /** True once the owner closes the channel: its end is then no accident. */
  readonly isClosing: () => boolean;
}

/** After a goodbye nobody answered, the socket would stay. */
const LINGER_MS = 1_000;

/**
 * Opens and prepares one channel on a new connection, from within amqplib's recovery set-up.
 *
 * What the set-up must do by itself: hear the connection's errors from the first moment (until recovery has taken the
 * connection over, an 'error' that nobody hears ends the process); limit the time; and when it fails, destroy the
 * socket before it says so: recovery answers a failed set-up with a polite close, which a silent broker never
 * confirms, and recovery would wait for that for ever.
 *
 * Afterwards the channel's end is the connection's end: recovery knows only connections. An error in a listener ends
 * both too, since a message may hang on it.
 */
export async function openGuardedChannel(
  model: ChannelModel,
  options: GuardedChannelOptions,
): Promise<ConfirmChannel> {
  let reason: Error | undefined;
  model.on('error', (error) => (reason ??= error)); // first of all
  const closed = new Promise<never>((_resolve, reject) => {
    model.once('close', (error) => {
      setTimeout(() => socketOf(model).destroy(), LINGER_MS).unref();
      reject(reason ?? error ?? new Error('connection closed'));
    });
  });
  const settled = closed.catch(() => undefined);
  try {
    const work = async () => {
      const channel = await model.createConfirmChannel();
      tieTogether(model, channel, options);
      await options.setup?.(channel, (error) => destroyConnection(model, error));
      return channel;
    };
    const timeout = () => new Error(`channel was not ready within ${options.setupTimeoutMs} ms`);
    return await withDeadline(options.setupTimeoutMs, () => Promise.race([work(), closed]), timeout);
  } catch (error) {
    destroyConnection(model, error instanceof Error ? error : new Error(String(error)));
    await settled;
    throw error;
  }
}

/** Ends a connection at once, without the broker's consent; the error is what makes amqplib notice at once too. */
export function destroyConnection(model: ChannelModel, error: Error): void {
  socketOf(model).destroy(error);
}

/** amqplib has no way to this end; the socket is not in its types. */
function socketOf(model: ChannelModel): Socket {
  return (model.connection as unknown as { readonly stream: Socket }).stream;
}

function tieTogether(
  model: ChannelModel,
  channel: ConfirmChannel,
  { name, logger, isClosing }: GuardedChannelOptions,
): void {
  let reason = new Error('channel closed');
  channel.on('error', (error) => (reason = error));
  channel.on('close', () => {
    if (!isClosing()) destroyConnection(model, reason);
  });
  const onHandlerError = (error: Error, event: string) => {
    logger.error('broker listener failed', { link: name, event, error });
    destroyConnection(model, error);
  };
  channel.on('handler-error', onHandlerError);
  model.on('handler-error', onHandlerError);
}
