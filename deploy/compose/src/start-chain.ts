import { join } from 'node:path';
import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import { startAnvil } from '@opentill/devnets/evm/anvil';
import { deployDevTokens } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { startSuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';
import { startTronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Checks } from '@opentill/runtime/health';
import type { ChainVariables } from './config.ts';

/** CHAIN_NOT_LOCAL: the networks file has no network of this name with a devnet. */
export type StartChainErrorCode = 'CHAIN_NOT_LOCAL';

export interface RunningChain {
  readonly checks: Checks;
  /** Resolves with the last output of a node that exited by itself. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

const EVERYWHERE = '0.0.0.0';
/** As in the local profile. */
const TRON_SOLID_LAG_BLOCKS = 3;

/** Listens on all addresses of the container and continues with the state of an earlier node. */
export async function startChain(
  networks: readonly NetworkConfig[],
  config: ChainVariables,
): Promise<RunningChain> {
  const network = networks.find(({ chain }) => chain === config.CHAIN);
  if (network?.family === 'TRON') return startTronChain(config);
  if (network?.family === 'SUI') return startSuiChain(network, config);
  if (network?.family === 'EVM' && network.chainId !== undefined)
    return startEvmChain(network, network.chainId, config);
  throw new GatewayError<StartChainErrorCode>(
    'CHAIN_NOT_LOCAL',
    `${config.NETWORKS_FILE} has no network ${config.CHAIN} with a devnet. Set CHAIN to a local test network.`,
    { retryable: false },
  );
}

async function startEvmChain(
  network: NetworkConfig,
  chainId: number,
  config: ChainVariables,
): Promise<RunningChain> {
  const node = await startAnvil({
    dir: config.STATE_DIR,
    host: EVERYWHERE,
    port: config.RPC_PORT,
    chainId,
    blockTimeSeconds: config.BLOCK_TIME_SECONDS,
    keepState: true,
  });
  try {
    await deployDevTokens({
      rpcUrl: node.rpcUrl,
      usdtDecimals: findToken(network, 'USDT')?.decimals ?? 6,
      usdcDecimals: findToken(network, 'USDC')?.decimals ?? 6,
    });
  } catch (error) {
    await node.stop('kill');
    throw error;
  }
  const answers = async () => ({
    ok: true,
    detail: `block ${Number(await callRpc<string>(node.rpcUrl, 'eth_blockNumber', []))}`,
  });
  return {
    checks: { node: answers },
    ended: node.exited.then(() => node.lastLogLines(5)),
    stop: async () => node.stop(),
  };
}

async function startTronChain(config: ChainVariables): Promise<RunningChain> {
  const node = await startTronDevnet({
    host: EVERYWHERE,
    port: config.RPC_PORT,
    blockTimeMs: config.BLOCK_TIME_SECONDS * 1_000,
    solidLagBlocks: TRON_SOLID_LAG_BLOCKS,
    stateFile: join(config.STATE_DIR, 'state.bin'),
  });
  return {
    checks: { node: () => Promise.resolve({ ok: true, detail: `block ${node.control.summary().head}` }) },
    ended: new Promise(() => undefined), // the node runs in this process
    stop: async () => node.close(),
  };
}

async function startSuiChain({ blockTimeMs }: NetworkConfig, config: ChainVariables): Promise<RunningChain> {
  const node = await startSuiDevnet({
    host: EVERYWHERE,
    port: config.RPC_PORT,
    checkpointMs: blockTimeMs,
    stateFile: join(config.STATE_DIR, 'state.bin'),
  });
  return {
    checks: {
      node: () => Promise.resolve({ ok: true, detail: `checkpoint ${node.control.summary().checkpoint}` }),
    },
    ended: new Promise(() => undefined), // the node runs in this process
    stop: async () => node.close(),
  };
}
