import { GatewayError } from '@opentill/domain/gateway-error';
import type { Observe } from '../observe/observe.ts';
import type { WalletKey } from '../payouts/payout-facts.ts';

/** Failures of nodes are left to the next pass. Any other error ends the pass. */
export async function runStep<T>(
  { observe, key }: { readonly observe: Pick<Observe, 'stepFailed'>; readonly key: WalletKey },
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isNodesFault(error)) throw error;
    observe.stepFailed(key, name, error);
    return undefined;
  }
}

const NODES_FAULT = /^(RPC_|BLOCK_NOT_FOUND$|INCONSISTENT_ANSWER$|READ_ABORTED$|FINALITY_UNAVAILABLE$)/;

function isNodesFault(error: unknown): boolean {
  return error instanceof GatewayError && NODES_FAULT.test(error.code);
}

export function readOnce<T>(read: () => Promise<T>): { read(): Promise<T>; forget(): void } {
  let known: Promise<T> | undefined;
  return { read: () => (known ??= read()), forget: () => void (known = undefined) };
}
