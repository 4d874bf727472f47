import type { Socket } from 'node:net';
import type { ChannelModel, ConfirmChannel } from 'amqplib';
import { withDeadline } from '@opentill/runtime/deadline';
import type { Logger } from '@opentill/runtime/logger';

export interface GuardedChannelOptions {
  readonly name: string;
  readonly logger: Logger;
  /** Prefetch, consume, listeners. A failure, or calling `drop`, destroys the connection. */
  readonly setup?: (channel: ConfirmChannel, drop: (error: Error) => void) => Promise<void>;
  readonly setupTimeoutMs: number;
  /** The owner closes the channel: its end is expected. */
  readonly isClosing: () => boolean;
}

/** Without this the socket stays open when the broker does not answer the close. */
const LINGER_MS = 1_000;

/**
 * Call it in amqplib's recovery setup. It listens for connection errors at once, since an unhandled 'error' ends the
 * process; limits the time; on failure destroys the socket first, since recovery would wait without limit for a silent
 * broker. The end of the channel ends the connection, because recovery watches only connections. So does a listener
 * error, since a message may depend on it.
 */
export async function openGuardedChannel(
  model: ChannelModel,
  options: GuardedChannelOptions,
): Promise<ConfirmChannel> {
  let reason: Error | undefined;
  model.on('error', (error) => (reason ??= error)); // before anything else
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

/** Skips the closing handshake. The error makes amqplib notice at once. */
export function destroyConnection(model: ChannelModel, error: Error): void {
  socketOf(model).destroy(error);
}

/** amqplib has no API for this, and its types hide the socket. */
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
