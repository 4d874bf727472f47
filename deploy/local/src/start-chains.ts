import { join } from 'node:path';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import { deployDevTokens } from '@opentill/devnets/evm/start-evm-devnet';
import type { NodeProcess } from '@opentill/devnets/node-process';
import { startSuiNode } from '@opentill/devnets/sui/node-process';
import { startTronNode } from '@opentill/devnets/tron/node-process';
import { findToken } from '@opentill/contracts/network-config';
import type { GatewayOptions } from './gateway-options.ts';
import type { StateDirectory } from './state-directory.ts';
import { timeStep } from './time-step.ts';
import type {
  LocalNetworks,
  EvmDevnetNetwork,
  SuiDevnetNetwork,
  TronDevnetNetwork,
} from './write-networks.ts';

export interface RunningEvmChain {
  readonly network: EvmDevnetNetwork;
  readonly node: Anvil;
}

export interface RunningTronChain {
  readonly network: TronDevnetNetwork;
  readonly node: NodeProcess;
}

export interface RunningSuiChain {
  readonly network: SuiDevnetNetwork;
  readonly node: NodeProcess;
}

export interface RunningChains {
  readonly evm: readonly RunningEvmChain[];
  readonly tron: RunningTronChain | undefined;
  readonly sui: RunningSuiChain | undefined;
}

/** Same as the confirmations of local.json's EVM networks. */
const TRON_SOLID_LAG_BLOCKS = 3;

export async function startChains(
  { evm, tron, sui }: LocalNetworks,
  directory: StateDirectory,
  options: GatewayOptions,
): Promise<RunningChains> {
  const { say } = options;
  const [evmResults, [tronResult, suiResult]] = await Promise.all([
    Promise.allSettled(
      evm.map(async (network) => timeStep(network.chain, say, startEvmChain(network, directory, options))),
    ),
    Promise.allSettled([
      Promise.resolve(tron && timeStep(tron.chain, say, startTronChain(tron, directory, options))),
      Promise.resolve(sui && timeStep(sui.chain, say, startSuiChain(sui, directory, options))),
    ] as const),
  ]);
  const running: RunningChains = {
    evm: evmResults.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    tron: tronResult.status === 'fulfilled' ? tronResult.value : undefined,
    sui: suiResult.status === 'fulfilled' ? suiResult.value : undefined,
  };
  const failure = [...evmResults, tronResult, suiResult].find((result) => result.status === 'rejected');
  if (failure === undefined) return running;
  await Promise.all(nodesOf(running).map(async ({ node }) => node.stop('kill')));
  throw failure.reason;
}

export function nodesOf({
  evm,
  tron,
  sui,
}: RunningChains): readonly (RunningEvmChain | RunningTronChain | RunningSuiChain)[] {
  return [...evm, ...(tron === undefined ? [] : [tron]), ...(sui === undefined ? [] : [sui])];
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
    keepState: options.durable !== false, // written at every stop and deleted by a fresh start
    signal: options.signal,
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
    signal: options.signal,
  });
  return { network, node };
}

async function startSuiChain(
  network: SuiDevnetNetwork,
  directory: StateDirectory,
  options: GatewayOptions,
): Promise<RunningSuiChain> {
  const node = await startSuiNode({
    dir: join(directory.chains, network.chain),
    port: options.ports.chains.SUI_TEST,
    checkpointMs: network.blockTimeMs,
    keepState: options.durable !== false,
    signal: options.signal,
  });
  return { network, node };
}
