import { BROADCAST_ENDPOINTS } from './broadcasting.ts';
import type { Endpoint } from './node.ts';
import { createBlockEndpoints } from './read-blocks.ts';
import { TRANSACTION_ENDPOINTS } from './read-transactions.ts';
import { STATE_ENDPOINTS } from './read-state.ts';
import { BUILD_ENDPOINTS } from './build-transactions.ts';
import { CALL_ENDPOINTS } from './call-contracts.ts';

export function createEndpoints(): Record<string, Endpoint> {
  return {
    ...createBlockEndpoints(),
    ...TRANSACTION_ENDPOINTS,
    ...STATE_ENDPOINTS,
    ...BUILD_ENDPOINTS,
    ...CALL_ENDPOINTS,
    ...BROADCAST_ENDPOINTS,
  };
}
