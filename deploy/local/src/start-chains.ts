import { join } from 'node:path';
import { startAnvil, type Anvil } from '@opentill/devnet/anvil';
import { deployDevTokens } from '@opentill/devnet/evm-devnet';
import { findToken } from '@opentill/contracts/network-config';
import type { GatewayOptions } from './gateway-options.ts';
import type { StateDirectory } from './state-directory.ts';
import type { DevnetNetwork } from './write-networks.ts';

/** A devnet with the configuration that the gateway has of it. */
export interface RunningChain {
  readonly network: DevnetNetwork;
  readonly node: Anvil;
}

/** Starts the devnets, each with its test tokens. If one fails, the others are stopped again. */
export async function startChains(
  networks: readonly DevnetNetwork[],
  directory: StateDirectory,
  options: GatewayOptions,
): Promise<readonly RunningChain[]> {
  const results = await Promise.allSettled(
    networks.map(async (network) => startChain(network, directory, options)),
  );
  const running = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure === undefined) return running;
  await Promise.all(running.map(async ({ node }) => node.stop('kill')));
  throw failure.reason;
}

async function startChain(
  network: DevnetNetwork,
  directory: StateDirectory,
  options: GatewayOptions,
): Promise<RunningChain> {
  const node = await startAnvil({
    dir: join(directory.chains, network.chain),
    port: options.ports.chains[network.chain],
    chainId: network.chainId,
    blockTimeSeconds: options.blockTimeSeconds ?? 1,
    keepState: options.durable !== false, // written at every stop; an earlier one is gone after a fresh start
  });
  try {
    await deployDevTokens({
      rpcUrl: node.rpcUrl,
      usdtDecimals: findToken(network, 'USDT')?.decimals ?? 6,
      usdcDecimals: findToken(network, 'USDC')?.decimals ?? 6,
    });
    return { network, node };
  } catch (error) {
    await node.stop('kill');
    throw error;
  }
}
