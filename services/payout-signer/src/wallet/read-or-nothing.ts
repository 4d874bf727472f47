import { GatewayError } from '@opentill/domain/gateway-error';

/**
 * Reads a value of one address among many; undefined if nodes cannot provide it, which does not affect the others.
 * Rethrows aborts, and errors that no node caused.
 */
export async function tryRead<T>(read: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (signal?.aborted === true || !(error instanceof GatewayError)) throw error;
    return undefined;
  }
}
