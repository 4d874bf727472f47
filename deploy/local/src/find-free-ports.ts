import { findFreePort } from '@opentill/devnet/free-port';
import type { GatewayPorts } from './gateway-options.ts';

/** Ports that are free now, all different: for gateways beside the local one (tests, measurements). */
export async function findFreePorts(): Promise<GatewayPorts> {
  const taken = new Set<number>();
  const next = async (): Promise<number> => {
    const port = await findFreePort();
    if (taken.has(port)) return next();
    taken.add(port);
    return port;
  };
  return {
    api: await next(),
    shop: await next(),
    ops: await next(),
    health: {
      api: await next(),
      'scanner-evm': await next(),
      'scanner-tron': await next(),
      'confirmation-tracker': await next(),
      'webhook-sender': await next(),
      'payout-signer': await next(),
      ops: await next(),
      'demo-shop': await next(),
    },
    chains: { ETH_SEPOLIA: await next(), BSC_TEST: await next(), TRON_TEST: await next() },
  };
}
