import { findFreePort } from '@opentill/test-servers/free-port';
import type { GatewayPorts } from './gateway-options.ts';

export async function findFreePorts(): Promise<GatewayPorts> {
  return {
    api: await findFreePort(),
    shop: await findFreePort(),
    ops: await findFreePort(),
    health: {
      api: await findFreePort(),
      'scanner-evm': await findFreePort(),
      'scanner-tron': await findFreePort(),
      'scanner-sui': await findFreePort(),
      'confirmation-tracker': await findFreePort(),
      'webhook-sender': await findFreePort(),
      'payout-signer': await findFreePort(),
      ops: await findFreePort(),
      rates: await findFreePort(),
      'demo-shop': await findFreePort(),
    },
    chains: {
      ETH_SEPOLIA: await findFreePort(),
      BSC_TEST: await findFreePort(),
      TRON_TEST: await findFreePort(),
      SUI_TEST: await findFreePort(),
    },
  };
}
