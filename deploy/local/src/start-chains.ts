import { join } from 'node:path';
import { startAnvil, type Anvil } from '@opentill/devnet/anvil';
import { deployDevTokens } from '@opentill/devnet/evm-devnet';
import { startTronNode, type TronNode } from '@opentill/devnet/tron-node';
import { findToken } from '@opentill/contracts/network-config';
import type { GatewayOptions } from './gateway-options.ts';
import type { StateDirectory } from './state-directory.ts';
import type { DevnetNetworks, EvmDevnetNetwork, TronDevnetNetwork } from './write-networks.ts';

/** An EVM devnet with the configuration that the gateway has of it. */
export interface RunningEvmChain {
  readonly network: EvmDevnetNetwork;
  readonly node: Anvil;
}

/** The TRON devnet with the configuration that the gateway has of it. */
export interface RunningTronChain {
  readonly network: TronDevnetNetwork;
  readonly node: TronNode;
}

export interface RunningChains {
  readonly evm: readonly RunningEvmChain[];
  readonly tron: RunningTronChain | undefined;
}

/** Final after as many blocks as the EVM networks of local.json ask for. */
const TRON_SOLID_LAG_BLOCKS = 3;

/** Starts the devnets, each with its test tokens. If one fails, the others are stopped again. */
export async function startChains(
  { evm, tron }: DevnetNetworks,
  directory: StateDirectory,
  options: GatewayOptions,
): Promise<RunningChains> {
  const [evmResults, [tronResult]] = await Promise.all([
    Promise.allSettled(evm.map(async (network) => startEvmChain(network, directory, options))),
    Promise.allSettled([tron === undefined ? undefined : startTronChain(tron, directory, options)]),
  ]);
  const running: RunningChains = {
    evm: evmResults.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    tron: tronResult.status === 'fulfilled' ? tronResult.value : undefined,
  };
  const failure = [...evmResults, tronResult].find((result) => result.status === 'rejected');
  if (failure === undefined) return running;
  await Promise.all(nodesOf(running).map(async ({ node }) => node.stop('kill')));
  throw failure.reason;
}

/** Every devnet by its chain. */
export function nodesOf({ evm, tron }: RunningChains): readonly (RunningEvmChain | RunningTronChain)[] {
  return tron === undefined ? evm : [...evm, tron];
}

async function startEvmChain(
  network: EvmDevnetNetwork,
  directory: StateDirectory,
  options: GatewayOptions,
): Promise<RunningEvmChain> {
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

async function startTronChain(
  network: TronDevnetNetwork,
  directory: StateDirectory,
  options: GatewayOptions,
): Promise<RunningTronChain> {
  const node = await startTronNode({
    dir: join(directory.chains, network.chain),
    port: options.ports.chains.TRON_TEST,
    blockTimeMs: (options.blockTimeSeconds ?? 1) * 1_000,
    solidLagBlocks: TRON_SOLID_LAG_BLOCKS,
    keepState: options.durable !== false,
  });
  return { network, node };
}
