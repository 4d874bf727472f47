import { GatewayError } from '@opentill/domain/gateway-error';

/**
 * What is read of one address among many; undefined where it can't be read, which is that address's affair alone. Throws what an abort
 * throws, and what is no answer of a node but a mistake here.
 */
export async function readOrNothing<T>(
  read: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (signal?.aborted === true || !(error instanceof GatewayError)) throw error;
    return undefined;
  }
}
