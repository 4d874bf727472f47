import { GatewayError } from '@opentill/domain/gateway-error';

/** undefined if nodes cannot provide the value. Rethrows aborts, and errors that no node caused. */
export async function tryRead<T>(read: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (signal?.aborted === true || !(error instanceof GatewayError)) throw error;
    return undefined;
  }
}
